// Reads the data that the page carries and shows it.

import { boardsPage, boardsView } from "./boards";
import { compareView } from "./compare";
import { Opened, type Episode, type PageData } from "./data";
import { Detail } from "./detail";
import { button, type Child, foreign, h, replace } from "./dom";
import { badge, episodeView, type EpisodeView, type OpenEvent } from "./episode";
import { figurePage } from "./figures";
import { plural } from "./format";
import { listView } from "./listing";
import { fetchBadge, follow } from "./live";

const SECTIONS: [string, string][] = [
  ["summary", "Summary"], ["pictures", "Pictures"], ["timeline", "Timeline"], ["findings", "Findings"], ["evidence", "Evidence"], ["trace", "Trace"],
];
const COMPARED: [string, string][] = [["summary", "Side by side"], ["divergence", "Divergence"], ["pictures", "Pictures"], ["timeline", "Timelines"], ["findings", "Findings"]];

class Page {
  private readonly views = new Map<number, EpisodeView>();
  private readonly content = h("div", {});
  private readonly tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Episodes" });
  private readonly nav = h("nav", { class: "sections", "aria-label": "Sections" });
  private readonly top = h("header", { class: "top" });
  private readonly detail: Detail;
  private shown = -1;
  private readonly ranking: HTMLElement;

  constructor(private readonly data: PageData, private readonly episodes: Opened[]) {
    this.ranking = boardsView(data.boards, data.rated);
    this.detail = new Detail((opened, row) => this.moved(opened, row), (opened, seq) => {
      const live = data.live[episodes.indexOf(opened)];
      return live ? `/trace/${live.id}/event/${seq}.json` : null;
    });
    const app = document.getElementById("app") ?? document.body;
    replace(app, h("a", { class: "skip", href: "#main", onclick: (event: Event) => this.jump(event, "main") }, "Skip to the content"),
      this.tabs, h("main", { id: "main", tabindex: -1 }, this.top, this.nav, this.content), this.detail.element,
      h("footer", {}, `tradefair ${data.version} · every number comes from the trace`));
    addEventListener("hashchange", () => this.follow());
    const wanted = new URLSearchParams(location.hash.slice(1));
    this.show(Number(wanted.get("tab") ?? (data.mode === "compare" ? -1 : 0)) || (data.mode === "compare" ? Number(wanted.get("tab") ?? -1) : 0));
    this.follow();
  }

  private show(place: number): void {
    const compared = this.data.mode === "compare" && place < 0 && this.data.pair !== null;
    this.shown = compared ? -1 : Math.max(0, Math.min(this.episodes.length - 1, place));
    if (place < 0 && !compared && this.data.boards.length) {
      this.shown = -1;
      this.drawTabs();
      replace(this.nav);
      replace(this.top, h("h1", {}, "Leaderboards"));
      replace(this.content, this.ranking);
      return;
    }
    this.drawTabs();
    const names = compared ? COMPARED : SECTIONS;
    replace(this.nav, h("ul", {}, names.map(([id, name]) => h("li", {}, h("a", { href: `#${id}`, onclick: (event: Event) => this.jump(event, id) }, name)))));
    if (compared && this.data.pair) {
      const [a, b] = this.episodes;
      replace(this.top, h("h1", {}, foreign(a?.page.scenario ?? ""), " ", h("span", { class: "quiet" }, "two episodes compared")));
      if (a && b) replace(this.content, compareView([a, b], this.data.pair, this.open));
      this.checkBoth();
      return;
    }
    const opened = this.episodes[this.shown];
    if (opened) this.showEpisode(opened);
  }

  private checkBoth(): void {
    for (const [place, check] of [...this.content.querySelectorAll<HTMLElement>("#summary .badge")].entries()) {
      const live = this.data.live[place];
      if (live && !this.episodes[place]?.page.verification) void fetchBadge(live.id, check);
    }
  }

  private showEpisode(opened: Opened): void {
    const { page } = opened, live = this.data.live[this.shown];
    const check = badge(page.verification);
    replace(this.top, ...this.heading(page, check));
    let view = this.views.get(this.shown);
    if (!view) {
      view = episodeView(opened, this.open);
      this.views.set(this.shown, view);
      if (live?.open) follow(live.id, opened, view, this.top);
    }
    if (live && !page.verification) void fetchBadge(live.id, check);
    replace(this.content, view.element);
  }

  private heading(page: Episode, check: HTMLElement): Child[] {
    return [
      h("div", { class: "name" }, this.data.live.length ? h("a", { href: "/", class: "back" }, "All traces") : null,
        h("h1", {}, foreign(page.scenario || page.name), " ", h("span", { class: "quiet num" }, page.seed === null ? "" : `seed ${page.seed}`)),
        page.description ? h("p", { class: "lead" }, foreign(page.description)) : null),
      check,
    ];
  }

  private drawTabs(): void {
    if (this.episodes.length < 2) return;
    const tab = (place: number, name: Child) => button(name, () => this.show(place), { role: "tab", class: "tab", "aria-selected": String(place === this.shown), tabindex: place === this.shown ? 0 : -1 });
    const names = this.episodes.map((opened, place) => tab(place, [this.data.mode === "compare" ? `${"AB"[place]} ` : "", foreign(`${opened.page.scenario} · ${opened.page.seed} · ${opened.page.name}`)]));
    replace(this.tabs, this.data.mode === "compare" ? tab(-1, "Comparison") : this.data.boards.length ? tab(-1, "Leaderboards") : null, names);
    this.tabs.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const all = [...this.tabs.children] as HTMLElement[];
      const next = step && all[all.indexOf(document.activeElement as HTMLElement) + step];
      if (next) {
        next.click();
        ([...this.tabs.children] as HTMLElement[])[all.indexOf(next)]?.focus();
      }
    };
  }

  private readonly open: OpenEvent = (opened, row, opener) => this.detail.open(opened, row, opener);

  // The address names the event that is shown, so that it can be passed on.
  private moved(opened: Opened, row: number): void {
    const place = this.episodes.indexOf(opened), view = this.views.get(place);
    const tab = this.episodes.length > 1 ? `tab=${this.shown}&of=${place}&` : "";
    history.replaceState(null, "", row < 0 ? `${location.pathname}${location.search}` : `#${tab}seq=${opened.events.seq[row]}`);
    document.body.classList.toggle("with-detail", row >= 0);
    if (row < 0) return;
    view?.timeline.select(row);
    view?.calls.select(row);
  }

  private follow(): void {
    const wanted = new URLSearchParams(location.hash.slice(1)), seq = Number(wanted.get("seq"));
    const opened = this.episodes[Number(wanted.get("of") ?? Math.max(0, this.shown))];
    const row = seq ? opened?.rowOf.get(seq) : undefined;
    if (opened && row !== undefined) this.detail.open(opened, row, null);
  }

  private jump(event: Event, id: string): void {
    event.preventDefault();
    const target = document.getElementById(id);
    target?.scrollIntoView();
    target?.focus({ preventScroll: true });
  }
}

async function start(): Promise<void> {
  const app = document.getElementById("app") ?? document.body;
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "null") as PageData;
  if (data.mode === "list") {
    replace(app, listView(data), h("footer", {}, `tradefair ${data.version}`));
    return;
  }
  if (data.figure) {
    figurePage(app, data.figure, data.version);
    return;
  }
  if (data.mode === "boards") {
    boardsPage(app, data);
    return;
  }
  if (!("DecompressionStream" in window)) {
    replace(app, h("p", { class: "warning" }, "This browser cannot open the compressed data of the page; any of 2023 or later can."));
    return;
  }
  const episodes = await Promise.all(data.episodes.map((episode) => Opened.of(episode)));
  new Page(data, episodes);
  document.body.dataset["ready"] = plural(episodes.length, "episode");
}

void start();

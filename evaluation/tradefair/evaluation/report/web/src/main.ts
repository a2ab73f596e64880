// Reads the data that the page carries and shows it.

import { boardsPage, boardsView } from "./boards";
import { compareView } from "./compare";
import { Opened, type PageData } from "./data";
import { Detail } from "./detail";
import { button, type Child, foreign, h, replace } from "./dom";
import { episodeView, type View } from "./episode";
import { figurePage } from "./figures";
import { plural } from "./format";
import type { OpenEvent } from "./lead";
import { listView } from "./listing";
import { fetchBadge, fetchLedger, follow } from "./live";
import { chain, runView } from "./run";
import { allForeign, runsView } from "./runs";
import { siteView } from "./site";
import { strip } from "./strip";
import { glossary } from "./terms";
import { Transcript } from "./transcript";

class Page {
  private readonly views = new Map<number, View>();
  private readonly transcripts = new Map<Opened, Transcript>();
  private readonly content = h("div", {});
  private readonly tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Episodes" });
  private readonly top = h("header", { class: "top" });
  private readonly detail: Detail;
  private shown = -1;
  private readonly ranking: HTMLElement;
  // Several foreign runs have a page of their own before them, and no tabs: there may be hundreds.
  private readonly runs: boolean;

  constructor(private readonly data: PageData, private readonly episodes: Opened[]) {
    this.runs = allForeign(episodes);
    this.ranking = this.runs ? runsView(data, episodes, (place) => this.enter(place)) : boardsView(data.boards, data.rated);
    this.detail = new Detail((opened, row) => this.moved(opened, row), (opened, seq) => {
      const live = data.live[episodes.indexOf(opened)];
      return live ? `/trace/${live.id}/event/${seq}.json` : null;
    }, (opened, note) => {
      // A comparison has no transcript of its own: that of the side is in its tab.
      this.show(episodes.indexOf(opened));
      void this.transcript(opened).goTo(note, () => this.showTranscript(opened, true));
    });
    const app = document.getElementById("app") ?? document.body;
    replace(app, h("a", { class: "skip", href: "#main", onclick: (event: Event) => this.jump(event, "main") }, "Skip to the content"),
      this.tabs, h("main", { id: "main", tabindex: -1 }, this.top, this.content, glossary()), this.detail.element,
      h("footer", {}, `tradefair ${data.version} · every number comes from the trace`));
    printable();
    addEventListener("hashchange", () => this.follow());
    const wanted = new URLSearchParams(location.hash.slice(1));
    this.show(Number(wanted.get("tab") ?? (data.mode === "compare" || this.runs ? -1 : 0)) || (data.mode === "compare" ? Number(wanted.get("tab") ?? -1) : 0));
    this.follow();
  }

  private show(place: number): void {
    const compared = this.data.mode === "compare" && place < 0 && this.data.pair !== null;
    this.shown = compared ? -1 : Math.max(0, Math.min(this.episodes.length - 1, place));
    if (place < 0 && !compared && (this.data.boards.length || this.runs)) {
      this.shown = -1;
      this.drawTabs();
      const [said, ...rest] = this.data.verdict?.sentences ?? ["Leaderboards"], [first = "", ...more] = this.runs ? (said ?? "").split(": ") : [said];
      if (more.length) rest.unshift(more.join(": "));
      replace(this.top, strip(plural(this.episodes.length, this.runs ? "run" : "episode"), this.data, this.episodes), h("div", { class: "verdict" }, h("h1", {}, foreign(first)), h("p", { class: "second" }, foreign(rest.join(" ")))));
      replace(this.content, this.ranking);
      return;
    }
    this.drawTabs();
    if (compared && this.data.pair) {
      const [a, b] = this.episodes;
      replace(this.top, strip([foreign(a?.page.scenario ?? ""), " · two episodes compared"], this.data, this.episodes));
      if (a && b) replace(this.content, compareView([a, b], this.data.pair, this.open));
      this.checkBoth();
      return;
    }
    const opened = this.episodes[this.shown];
    if (opened) this.showEpisode(opened);
  }

  private checkBoth(): void {
    for (const [place, check] of [...this.content.querySelectorAll<HTMLElement>(".leads .badge")].entries()) {
      const live = this.data.live[place];
      if (live && !this.episodes[place]?.page.verification) void fetchBadge(live.id, check, 0, this.episodes[place]?.page.foreign ? chain : undefined);
    }
  }

  private showEpisode(opened: Opened): void {
    const { page } = opened, live = this.data.live[this.shown];
    let view = this.views.get(this.shown);
    const first = view === undefined;
    view ??= page.foreign ? runView(opened) : episodeView(opened, this.open, this.openTurn);
    this.views.set(this.shown, view);
    const name: Child = [foreign(page.verdict.foreign?.file || page.scenario || page.name), page.seed === null ? null : h("span", { class: "num" }, ` · seed ${page.seed}`)];
    const all = this.runs ? button("all runs", () => this.enter(-1), { class: "link" }) : null;
    const turn = page.foreign ? null : button("transcript", () => this.showTranscript(opened, turn?.getAttribute("aria-pressed") !== "true"), { class: "link view", "aria-pressed": "false" });
    replace(this.top, strip(name, this.data, [opened], all, turn), view.lead);
    replace(this.content, view.element);
    if (first && live?.open) follow(live.id, opened, view, this.top, live.ledger);
    else if (first && live?.ledger) void fetchLedger(live.id, opened, view);
    const check = view.lead.querySelector<HTMLElement>(".badge.none");
    if (live && !page.verification && check) void fetchBadge(live.id, check, 0, view.badge);
  }

  // Another page of several runs, with an address of its own to come back to.
  private enter(place: number): void {
    location.hash = `tab=${place}`;
  }

  private transcript(opened: Opened): Transcript {
    let known = this.transcripts.get(opened);
    if (known?.priced !== opened.turnOf.size) this.transcripts.set(opened, (known = new Transcript(opened, this.open)));
    return known;
  }

  // In place of the report, under the same verdict.
  private showTranscript(opened: Opened, on: boolean): void {
    const view = this.views.get(this.shown);
    this.top.querySelector(".view")?.setAttribute("aria-pressed", String(on));
    if (view) replace(this.content, on ? this.transcript(opened).element : view.element);
  }

  private drawTabs(): void {
    if (this.episodes.length < 2 || this.runs) return;
    const tab = (place: number, name: Child) => button(name, () => this.show(place), { role: "tab", class: "tab", "aria-selected": String(place === this.shown), tabindex: place === this.shown ? 0 : -1 });
    const names = this.episodes.map((opened, place) => tab(place, [this.data.mode === "compare" ? `${"AB"[place]} ` : "", foreign([opened.page.scenario, opened.page.seed, opened.page.name].filter((part) => part !== null).join(" · "))]));
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

  // The transcript where a model played, at its reply in this turn; else the event, as of a scripted policy.
  private readonly openTurn: OpenEvent = (opened, row, opener) => {
    const note = opened.replyIn(opened.events.seq[row] ?? -1);
    void this.transcript(opened).goTo(note, () => this.showTranscript(opened, true)).then((found) => found || this.open(opened, row, opener));
  };

  // The address names the event that is shown, so that it can be passed on.
  private moved(opened: Opened, row: number): void {
    const place = this.episodes.indexOf(opened), view = this.views.get(place);
    const tab = this.episodes.length > 1 ? `tab=${this.shown}&of=${place}&` : "";
    history.replaceState(null, "", row < 0 ? `${location.pathname}${location.search}` : `#${tab}seq=${opened.events.seq[row]}`);
    document.body.classList.toggle("with-detail", row >= 0);
    if (row < 0) return;
    view?.select(row);
  }

  private follow(): void {
    const wanted = new URLSearchParams(location.hash.slice(1)), seq = Number(wanted.get("seq"));
    if (this.runs && Number(wanted.get("tab") ?? -1) !== this.shown) {
      this.show(Number(wanted.get("tab") ?? -1));
      scrollTo(0, 0);
    }
    const opened = this.episodes[Number(wanted.get("of") ?? Math.max(0, this.shown))];
    const row = seq ? opened?.rowOf.get(seq) : undefined;
    if (opened?.page.foreign && row !== undefined) this.views.get(this.shown)?.select(row);
    else if (opened && row !== undefined) this.detail.open(opened, row, null);
  }

  private jump(event: Event, id: string): void {
    event.preventDefault();
    const target = document.getElementById(id);
    target?.scrollIntoView();
    target?.focus({ preventScroll: true });
  }
}

// Print shows what is folded on the screen; what is built on demand is built then, and folded again afterwards.
function printable(): void {
  let opened: HTMLDetailsElement[] = [];
  const unfold = (): void => {
    for (let shut = folds(); shut.length > 0; shut = folds())
      for (const fold of shut) {
        fold.open = true;
        fold.dispatchEvent(new Event("toggle"));
        opened.push(fold);
      }
  };
  const fold = (): void => {
    for (const done of opened) done.open = false;
    opened = [];
  };
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", fold);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? unfold() : fold()));
}

function folds(): HTMLDetailsElement[] {
  return [...document.querySelectorAll<HTMLDetailsElement>("main details:not([open]):not(.screen)")];
}

async function start(): Promise<void> {
  const app = document.getElementById("app") ?? document.body;
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "null") as PageData;
  if (data.mode === "list") {
    replace(app, data.site ? siteView(data, data.site) : listView(data), h("footer", {}, `tradefair ${data.version}`));
    document.body.dataset["ready"] = "list";
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

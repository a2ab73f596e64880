// The calls as a list: only the rows in view are in the document, so that twenty thousand scroll like twenty.

import type { Opened } from "./data";
import { foreign, freshId, h, replace } from "./dom";
import { type Filter, markKind, markStatus } from "./filter";
import { number, seconds } from "./format";
import { title } from "./terms";

const ROW = 26, SPARE = 6;

export class CallList {
  readonly element: HTMLElement;
  private readonly box: HTMLElement;
  private readonly body = h("div", { class: "rows" });
  private readonly stem = freshId("call");
  private active = 0;

  constructor(private readonly opened: Opened, private readonly filter: Filter, private readonly choose: (row: number, opener: HTMLElement) => void) {
    this.box = h("div", { class: "calls", tabindex: 0, role: "listbox", "aria-label": "Calls" }, this.body);
    const heads = ["event", "round", "seat", "kind", "call", "outcome", "took", "turn lost"];
    this.element = h("div", { class: "call-list" },
      h("div", { class: "row heads" }, heads.map((name) => h("span", {}, title(name)))), this.box);
    this.priced();
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => {
      const place = Number((event.target as HTMLElement).closest<HTMLElement>("[data-place]")?.dataset["place"] ?? -1);
      if (place >= 0) this.open(place);
    });
    filter.onchange(() => {
      this.active = Math.min(this.active, Math.max(0, filter.shown.length - 1));
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  // Bring a call into view; nothing when the filter hides it.
  select(row: number): void {
    const place = this.filter.shown.indexOf(row);
    if (place < 0) return;
    this.active = place;
    this.reveal();
    this.draw();
  }

  // After a ledger came: a last column has what turns lost, each at its first call.
  priced(): void {
    this.element.classList.toggle("priced", this.opened.turnOf.size > 0);
    this.draw();
  }

  private open(place: number): void {
    const row = this.filter.shown[place];
    if (row === undefined) return;
    this.active = place;
    this.draw();
    this.choose(row, this.box);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1), last = this.filter.shown.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: last,
    };
    const to = moves[event.key];
    if (to !== undefined) {
      this.active = Math.max(0, Math.min(last, to));
      this.reveal();
      this.draw();
    } else if (event.key === "Enter" || event.key === " ") this.open(this.active);
    else return;
    event.preventDefault();
  }

  private reveal(): void {
    const top = this.active * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
  }

  private draw(): void {
    const { shown } = this.filter;
    this.body.style.height = `${shown.length * ROW}px`;
    const from = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const to = Math.min(shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + SPARE);
    const rows: HTMLElement[] = [];
    for (let place = from; place < to; place++) rows.push(this.line(place, shown[place] ?? 0));
    replace(this.body, rows.length ? rows : h("p", { class: "empty" }, "No call fits the filter."));
    this.box.setAttribute("aria-activedescendant", shown.length ? `${this.stem}-${this.active}` : "");
  }

  private line(place: number, row: number): HTMLElement {
    const { opened } = this, { events } = opened;
    const status = markStatus(opened, row), kind = markKind(opened, row), latency = events.latency_us[row] ?? -1;
    const wrong = status === "ok" ? "" : " wrong";
    const line = h("div", {
      class: `row${wrong}${opened.own.has(opened.word("seat", row)) ? " own" : ""}${opened.ringed.has(row) ? " cited" : ""}`, role: "option", id: `${this.stem}-${place}`, "data-place": place,
      "aria-selected": String(place === this.active), "aria-setsize": this.filter.shown.length, "aria-posinset": place + 1,
    },
      h("span", { class: "num" }, number(events.seq[row])), h("span", { class: "num" }, number(events.round[row])), foreign(opened.word("seat", row)),
      h("span", {}, h("span", { class: `glyph ${wrong ? (kind === "lapse" ? "lapse" : "refused") : kind}`, "aria-hidden": "true" }), kind),
      h("span", { class: (events.parent[row] ?? -1) >= 0 ? "inner tool" : "tool" }, foreign(opened.word("tool", row) || "default action"), events.argument[row] ? [" ", foreign(events.argument[row] ?? "")] : null), h("span", {}, status, opened.clicked.has(row) ? " · person" : null),
      h("span", { class: "num" }, latency >= 0 ? seconds(latency / 1e6) : ""), this.lost(events.seq[row] ?? 0));
    line.style.top = `${place * ROW}px`;
    return line;
  }

  private lost(seq: number): HTMLElement {
    const { ledger, turn } = this.opened.turnOf.get(seq) ?? {};
    if (!ledger || !turn || turn.seqs[0] !== seq) return h("span", {});
    return h("span", { class: "num", title: turn.would.length ? `${ledger.best} would have done: ${turn.would.join("; ")}` : turn.place }, number(turn.lost));
  }
}

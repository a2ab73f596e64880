// Which calls are shown: by seat, kind, status, tool, finding and text. One filter serves timeline and list.

import type { Opened, Raised } from "./data";
import { button, freshId, h, replace, visible } from "./dom";
import { number, words } from "./format";
import { modeName } from "./parts";

export const KINDS = ["read", "analysis", "action", "note"] as const;
export const STATUSES = ["ok", "rejected", "invalid", "denied", "failed", "lapsed"] as const;

// The kind under which an event is drawn; lapses are marks of their own, closures belong to the ruler.
export function markKind(opened: Opened, row: number): string {
  const event = opened.word("event", row);
  if (event === "tool_called") return opened.word("kind", row) || "other";
  return event === "seat_lapsed" ? "lapse" : "";
}

export function markStatus(opened: Opened, row: number): string {
  return opened.word("event", row) === "seat_lapsed" ? "lapsed" : opened.word("status", row);
}

// Whether an event is a mark: of what is none, the timeline would show nothing.
export function isMark(opened: Opened, row: number | undefined): boolean {
  return row !== undefined && markKind(opened, row) !== "";
}

export class Filter {
  readonly element: HTMLElement;
  // What passes the filter, and that of it which the list shows: of the chosen seat.
  lit: number[] = [];
  shown: number[] = [];
  private matches = new Uint8Array(0);
  private readonly kinds = new Set<string>();
  private readonly statuses = new Set<string>();
  private seat = "";
  private tool = "";
  private text = "";
  private found: Set<number> | null = null;
  private finding: Raised | null = null;
  private search = 0;
  // What is shown now, in words.
  readonly state: HTMLElement;
  private readonly count = h("p", { class: "count", "aria-live": "polite", role: "status" });
  private readonly chips = h("div", { class: "chips", role: "group", "aria-label": "Kinds and outcomes of calls" });
  private readonly seats = h("select", { onchange: () => this.set(() => (this.seat = this.seats.value)) });
  private readonly tools = h("select", { onchange: () => this.set(() => (this.tool = this.tools.value)) });
  private readonly cited = h("p", { class: "cited" });
  private readonly listeners: (() => void)[] = [];
  marks: number[] = [];

  constructor(readonly opened: Opened) {
    // Who opens a report asks what the seat under test did; its opponents are one choice away.
    const [own] = opened.own;
    if (own !== undefined && opened.own.size === 1) this.seat = own;
    const typed = h("input", { type: "search", placeholder: "in arguments and results", spellcheck: "false", maxlength: 200 });
    const label = (name: string, control: HTMLElement) => {
      control.id = freshId("filter");
      return h("div", { class: "field" }, h("label", { for: control.id }, name), control);
    };
    let waiting = 0;
    typed.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => void this.find(typed.value), 250);
    });
    this.element = h("div", { class: "filter", role: "search", "aria-label": "Filter calls" },
      h("div", { class: "fields" }, label("Seat", this.seats), label("Tool", this.tools), label("Text", typed)),
      this.chips);
    this.state = h("div", { class: "filter-state" }, this.cited, this.count);
    this.refresh();
  }

  onchange(listener: () => void): void {
    this.listeners.push(listener);
  }

  has(row: number): boolean {
    return this.matches[row] === 1;
  }

  // Show only what a finding cites; null for all again.
  show(finding: Raised | null): void {
    this.set(() => (this.finding = finding));
  }

  // After events were added.
  refresh(): void {
    const { opened } = this;
    this.marks = [];
    for (let row = 0; row < opened.events.seq.length; row++) if (markKind(opened, row)) this.marks.push(row);
    const unique = (column: "seat" | "tool") => [...new Set(this.marks.map((row) => opened.word(column, row)))].filter(Boolean).sort();
    this.options(this.seats, "all seats", unique("seat"), this.seat);
    this.options(this.tools, "all tools", unique("tool"), this.tool);
    this.drawChips();
    this.apply();
  }

  private options(select: HTMLSelectElement, all: string, names: string[], chosen: string): void {
    replace(select, h("option", { value: "" }, all), names.map((name) => h("option", { value: name }, name)));
    select.value = chosen;
  }

  private drawChips(): void {
    const tally = (of: (row: number) => string) => {
      const found = new Map<string, number>();
      for (const row of this.marks) found.set(of(row), (found.get(of(row)) ?? 0) + 1);
      return found;
    };
    const chip = (name: string, count: number, chosen: Set<string>, shape: string) =>
      button([h("span", { class: `glyph ${shape}`, "aria-hidden": "true" }), words(name), " ", h("span", { class: "num" }, number(count))],
        () => this.set(() => (chosen.has(name) ? chosen.delete(name) : chosen.add(name))),
        { class: "chip", "aria-pressed": String(chosen.has(name)), "data-chip": name });
    const kinds = tally((row) => markKind(this.opened, row)), statuses = tally((row) => markStatus(this.opened, row));
    const had = document.activeElement?.getAttribute("data-chip");
    replace(this.chips,
      [...kinds].filter(([name]) => name !== "lapse").sort(byOrder(KINDS)).map(([name, count]) => chip(name, count, this.kinds, name)),
      h("span", { class: "gap" }),
      [...statuses].sort(byOrder(STATUSES)).map(([name, count]) => chip(name, count, this.statuses, name === "ok" ? "fine" : name === "lapsed" ? "lapse" : "refused")));
    if (had) (this.chips.querySelector(`[data-chip="${CSS.escape(had)}"]`) as HTMLElement | null)?.focus();
  }

  private set(change: () => void): void {
    change();
    this.drawChips();
    this.apply();
  }

  private apply(): void {
    const { opened } = this;
    const cited = this.finding ? new Set(this.finding.events) : null;
    this.matches = new Uint8Array(opened.events.seq.length);
    this.lit = this.marks.filter((row) =>
      (!this.tool || opened.word("tool", row) === this.tool) &&
      (this.kinds.size === 0 || this.kinds.has(markKind(opened, row))) &&
      (this.statuses.size === 0 || this.statuses.has(markStatus(opened, row))) &&
      (cited === null || cited.has(opened.events.seq[row] ?? 0)) && (this.found === null || this.found.has(row)));
    for (const row of this.lit) this.matches[row] = 1;
    this.shown = this.seat ? this.lit.filter((row) => opened.word("seat", row) === this.seat) : this.lit;
    this.count.textContent = `${number(this.shown.length)} of ${number(this.marks.length)} calls${this.seat ? `, those of ${visible(this.seat)}` : ""}`;
    replace(this.cited, this.finding ? [`Only what “${modeName(this.finding.finding.id)}” cites. `, button("Show all calls", () => this.show(null), { class: "link" })] : null);
    for (const listener of this.listeners) listener();
  }

  // Texts lie compressed: a search opens chunk after chunk, and ends when another begins.
  private async find(text: string): Promise<void> {
    const ticket = ++this.search;
    this.text = text.trim().toLowerCase();
    if (!this.text) {
      this.set(() => (this.found = null));
      return;
    }
    const found = new Set<number>();
    for (const [done, row] of this.marks.entries()) {
      const texts = await this.opened.bodies.row(row);
      if (ticket !== this.search) return;
      if (texts.some((cut) => cut.text?.toLowerCase().includes(this.text))) found.add(row);
      if (done % 500 === 0) this.count.textContent = `searching … ${number(done)} of ${number(this.marks.length)} calls`;
    }
    this.set(() => (this.found = found));
  }
}

function byOrder(order: readonly string[]): (a: [string, number], b: [string, number]) => number {
  const place = (name: string) => (order.indexOf(name) + 1 || 99);
  return (a, b) => place(a[0]) - place(b[0]);
}

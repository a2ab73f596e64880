// The timeline: a lane per seat, a column per round, a cell per call. Drawn on a canvas, only what is in view.

import type { Opened } from "./data";
import { freshId, h, visible } from "./dom";
import { type Filter, markKind, markStatus } from "./filter";
import { number, seconds } from "./format";

const LABEL = 92, RULER = 22, GAP = 10, SMALLEST = 3, LARGEST = 12;
// Pixels that the lane of a seat under test, and that of another seat, are high at most.
const OWN = 84, OTHERS = 24;
// What a call is shows in its shape and in how strong its colour is; the colour itself says whose it is.
const STRENGTH: Record<string, number> = { action: 1, analysis: 0.7, note: 0.5, read: 0.42 };

// `deep` is how many cells of a lane stand above each other: more in that of the seat under test.
interface Lane { seat: string; own: boolean; rounds: Map<number, number[]>; most: number; deep: number; top: number; height: number }
// `edges[i]` is where the column of round first + i begins.
interface Layout { lanes: Lane[]; first: number; last: number; edges: number[]; cell: number; height: number }

export class Timeline {
  readonly element: HTMLElement;
  selected = -1;
  private readonly canvas = h("canvas", { class: "marks" });
  private readonly spacer = h("div", { class: "spacer" });
  private readonly scroller: HTMLElement;
  private readonly spoken = h("p", { class: "hidden", "aria-live": "polite" });
  private readonly tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  private layout: Layout = { lanes: [], first: 1, last: 1, edges: [0, 6], cell: 3, height: 60 };
  private zoom = 1;
  private pending = 0;
  private ringed = new Set<number>();

  constructor(private readonly opened: Opened, private readonly filter: Filter, private readonly choose: (row: number, opener: HTMLElement) => void) {
    const help = freshId("help");
    this.scroller = h("div", {
      class: "lanes", tabindex: 0, role: "application", "aria-label": "Timeline of calls, a lane per seat", "aria-roledescription": "timeline", "aria-describedby": help,
    }, this.canvas, this.spacer);
    const zoom = (factor: number) => () => {
      this.zoom = Math.max(1, Math.min(64, this.zoom * factor));
      this.resize(true);
    };
    this.element = h("div", { class: "timeline" },
      h("div", { class: "tools" },
        h("p", { class: "aside", id: help }, "A column is a round, a cell a call; ringed: cited by a finding. ← → next call, ↑ ↓ other seat, Page keys a round, Enter opens."),
        h("span", { class: "zoom", role: "group", "aria-label": "Zoom" },
          h("button", { type: "button", onclick: zoom(0.5), "aria-label": "Zoom out" }, "−"),
          h("button", { type: "button", onclick: zoom(2), "aria-label": "Zoom in" }, "+"))),
      this.scroller, this.tip, this.spoken);
    this.scroller.addEventListener("scroll", () => this.redraw());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => {
      const row = this.at(event);
      if (row >= 0) this.pick(row, true);
    });
    this.scroller.addEventListener("focus", () => this.redraw());
    this.scroller.addEventListener("blur", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("themechange", () => this.redraw());
    new ResizeObserver(() => this.resize(false)).observe(this.scroller);
    filter.onchange(() => this.redraw());
    this.rebuild();
  }

  // After events were added.
  rebuild(): void {
    const { events } = this.opened;
    const lanes = new Map<string, Lane>(this.opened.page.seats.map((seat) => [seat.id, { seat: seat.id, own: this.opened.own.has(seat.id), rounds: new Map(), most: 1, deep: 1, top: 0, height: 0 }]));
    let first = Infinity, last = 1;
    for (const row of this.filter.marks) {
      const lane = lanes.get(this.opened.word("seat", row)), round = events.round[row] ?? 0;
      if (!lane) continue;
      const cells = lane.rounds.get(round) ?? [];
      cells.push(row);
      lane.rounds.set(round, cells);
      lane.most = Math.max(lane.most, cells.length);
      first = Math.min(first, round);
      last = Math.max(last, round);
    }
    // The seat under test on top: of hundreds of lanes the first few are in view.
    const ordered = [...lanes.values()].sort((a, b) => Number(b.own) - Number(a.own));
    this.layout = { ...this.layout, lanes: ordered, first: Number.isFinite(first) ? first : 1, last };
    this.resize(false);
  }

  // Marks that are ringed: the two sides of a divergence.
  ring(rows: number[]): void {
    this.ringed = new Set(rows);
    this.redraw();
  }

  // Select without opening; scrolls there.
  select(row: number): void {
    this.selected = row;
    this.reveal(row);
    this.redraw();
  }

  private pick(row: number, open: boolean): void {
    this.select(row);
    this.spoken.textContent = this.describe(row);
    if (open) this.choose(row, this.scroller);
  }

  private describe(row: number): string {
    const { opened } = this, { events } = opened;
    const name = opened.word("event", row) === "seat_lapsed" ? "lapsed" : opened.word("tool", row);
    const latency = events.latency_us[row] ?? -1;
    const parts = [`#${events.seq[row]}`, `round ${events.round[row]}`, opened.word("seat", row), name, markStatus(opened, row)];
    return visible([...parts, latency >= 0 ? seconds(latency / 1e6) : ""].filter(Boolean).join(" · "));
  }

  // --- geometry ---

  // The largest cells with which all rounds fit the width; a busy round gets a wider column than its neighbours.
  private resize(keep: boolean): void {
    const { layout, scroller } = this;
    const width = scroller.clientWidth;
    if (width === 0) return;
    const room = (width - LABEL - 4) * this.zoom, before = layout.edges.at(-1) ?? 1;
    const centre = (scroller.scrollLeft + (width - LABEL) / 2) / before;
    const even = layout.lanes.length === 1 ? 150 : layout.lanes.length <= 3 ? 90 : layout.lanes.length <= 10 ? 40 : 24;
    const several = layout.lanes.some((lane) => lane.own) && layout.lanes.some((lane) => !lane.own);
    const deep = (lane: Lane, size: number): number => Math.max(1, Math.floor((several ? (lane.own ? OWN : OTHERS) : even) / size));
    const widths = (size: number): number[] => this.busiest((lane, count) => Math.max(1, Math.ceil(count / deep(lane, size))) * size + 2);
    const total = (all: number[]): number => all.reduce((sum, one) => sum + one, 0);
    layout.cell = SMALLEST;
    for (let size = LARGEST; size > SMALLEST && layout.cell === SMALLEST; size--) if (total(widths(size)) <= room) layout.cell = size;
    const needed = widths(layout.cell), spare = Math.max(0, Math.min(60, (room - total(needed)) / needed.length));
    layout.edges = [0];
    for (const one of needed) layout.edges.push((layout.edges.at(-1) ?? 0) + one + spare);
    let top = RULER;
    for (const lane of layout.lanes) {
      lane.top = top;
      lane.deep = deep(lane, layout.cell);
      // The lane of the seat under test is never lower than its room allows: there is where a reader looks.
      lane.height = Math.max(several && lane.own ? OWN / 2 : 16, Math.min(lane.most, lane.deep) * layout.cell);
      top += lane.height + GAP;
    }
    layout.height = top;
    this.spacer.style.width = `${LABEL + (layout.edges.at(-1) ?? 0)}px`;
    scroller.style.height = `${layout.height + 16}px`;
    if (keep) scroller.scrollLeft = centre * (layout.edges.at(-1) ?? 0) - (width - LABEL) / 2;
    this.redraw();
  }

  // The width of every round's column: that of the lane which needs most.
  private busiest(width: (lane: Lane, count: number) => number): number[] {
    const { first, last, lanes } = this.layout;
    const widths = new Array<number>(last - first + 1).fill(SMALLEST + 2);
    for (const lane of lanes)
      for (const [round, cells] of lane.rounds) widths[round - first] = Math.max(widths[round - first] ?? 0, width(lane, cells.length));
    return widths;
  }

  // Where a round's column begins, without scrolling.
  private edge(round: number): number {
    return this.layout.edges[Math.max(0, Math.min(this.layout.edges.length - 1, round - this.layout.first))] ?? 0;
  }

  private roundAt(along: number): number {
    const { edges, first } = this.layout;
    let low = 0, high = edges.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((edges[middle] ?? 0) <= along) low = middle;
      else high = middle;
    }
    return first + low;
  }

  private place(row: number): { x: number; y: number } | null {
    const lane = this.layout.lanes.find((one) => one.seat === this.opened.word("seat", row));
    const round = this.opened.events.round[row] ?? 0;
    const cell = lane?.rounds.get(round)?.indexOf(row) ?? -1;
    return lane && cell >= 0 ? this.cellPlace(lane, round, cell) : null;
  }

  private cellPlace(lane: Lane, round: number, cell: number): { x: number; y: number } {
    const { layout } = this;
    const x = LABEL + this.edge(round) + Math.floor(cell / lane.deep) * layout.cell;
    return { x, y: lane.top + (cell % lane.deep) * layout.cell };
  }

  private at(event: MouseEvent): number {
    const box = this.canvas.getBoundingClientRect(), { layout } = this;
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const lane = layout.lanes.find((one) => y >= one.top && y < one.top + one.height);
    const along = x - LABEL + this.scroller.scrollLeft;
    if (!lane || x < LABEL || along >= (layout.edges.at(-1) ?? 0)) return -1;
    const round = this.roundAt(along), deep = Math.floor((y - lane.top) / layout.cell);
    if (deep >= lane.deep) return -1;
    return lane.rounds.get(round)?.[Math.floor((along - this.edge(round)) / layout.cell) * lane.deep + deep] ?? -1;
  }

  private reveal(row: number): void {
    const place = this.place(row);
    if (!place) return;
    const { scroller } = this, x = place.x - LABEL;
    if (x < scroller.scrollLeft || x > scroller.scrollLeft + scroller.clientWidth - LABEL - this.layout.cell)
      scroller.scrollLeft = x - (scroller.clientWidth - LABEL) / 2;
    if (place.y < scroller.scrollTop || place.y > scroller.scrollTop + scroller.clientHeight - GAP * 2) scroller.scrollTop = place.y - scroller.clientHeight / 2;
  }

  // --- keys and pointer ---

  private key(event: KeyboardEvent): void {
    const steps: Record<string, () => number> = {
      ArrowRight: () => this.along(1), ArrowLeft: () => this.along(-1), ArrowDown: () => this.toLane(1), ArrowUp: () => this.toLane(-1),
      PageDown: () => this.byRound(1), PageUp: () => this.byRound(-1), Home: () => this.filter.lit[0] ?? -1, End: () => this.filter.lit.at(-1) ?? -1,
    };
    const step = steps[event.key];
    if (step) {
      const row = this.selected < 0 ? (this.filter.lit[0] ?? -1) : step();
      if (row >= 0) this.pick(row, false);
    } else if ((event.key === "Enter" || event.key === " ") && this.selected >= 0) this.pick(this.selected, true);
    else return;
    event.preventDefault();
  }

  private along(step: number): number {
    const seat = this.opened.word("seat", this.selected);
    const own = this.filter.lit.filter((row) => this.opened.word("seat", row) === seat);
    if (step > 0) return own.find((row) => row > this.selected) ?? this.selected;
    return own.findLast((row) => row < this.selected) ?? this.selected;
  }

  private toLane(step: number): number {
    const lanes = this.layout.lanes, here = lanes.findIndex((lane) => lane.seat === this.opened.word("seat", this.selected));
    for (let place = here + step; place >= 0 && place < lanes.length; place += step) {
      const own = this.filter.lit.filter((row) => this.opened.word("seat", row) === lanes[place]?.seat);
      const round = this.opened.events.round[this.selected] ?? 0;
      const near = own.find((row) => (this.opened.events.round[row] ?? 0) >= round) ?? own.at(-1);
      if (near !== undefined) return near;
    }
    return this.selected;
  }

  private byRound(step: number): number {
    const { round } = this.opened.events, seat = this.opened.word("seat", this.selected), here = round[this.selected] ?? 0;
    const own = this.filter.lit.filter((row) => this.opened.word("seat", row) === seat);
    if (step > 0) return own.find((row) => (round[row] ?? 0) > here) ?? this.selected;
    const before = own.findLast((row) => (round[row] ?? 0) < here);
    return before === undefined ? this.selected : (own.find((row) => round[row] === round[before]) ?? before);
  }

  private hover(event: MouseEvent): void {
    const row = this.at(event);
    this.canvas.classList.toggle("over", row >= 0);
    this.tip.hidden = row < 0;
    if (row < 0) return;
    this.tip.textContent = this.describe(row);
    const box = this.element.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4);
    this.tip.style.transform = `translate(${Math.max(0, x)}px, ${event.clientY - box.top + 16}px)`;
  }

  // --- drawing ---

  private redraw(): void {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { canvas, scroller, layout } = this;
    const width = scroller.clientWidth, height = layout.height, ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    if (!pen || width === 0) return;
    const style = getComputedStyle(this.element);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `11.5px ${style.fontFamily}`;
    const left = scroller.scrollLeft;
    const from = this.roundAt(left), to = Math.min(layout.last, this.roundAt(left + width - LABEL));
    const painter = new Painter(pen, layout.cell, colour);
    const rings: { x: number; y: number; name: string }[] = [];
    const some = layout.lanes.some((lane) => lane.own);
    this.drawRuler(pen, from, to, left, width, colour);
    for (const lane of layout.lanes) {
      pen.fillStyle = colour("line");
      pen.fillRect(LABEL, lane.top + lane.height + GAP / 2, width - LABEL, 1);
      for (let round = from; round <= to; round++) {
        lane.rounds.get(round)?.forEach((row, cell) => {
          const at = this.cellPlace(lane, round, cell);
          painter.mark(at.x - left, at.y, markKind(this.opened, row), markStatus(this.opened, row), this.filter.has(row), lane.own ? "accent" : some ? "quiet" : "ink");
          if (row === this.selected || this.ringed.has(row) || this.opened.ringed.has(row)) rings.push({ x: at.x - left, y: at.y, name: row === this.selected ? "ink" : "alert" });
        });
      }
    }
    for (const ring of rings) painter.ring(ring.x, ring.y, ring.name);
    this.drawLabels(pen, colour);
  }

  private drawRuler(pen: CanvasRenderingContext2D, from: number, to: number, left: number, width: number, colour: (name: string) => string): void {
    const { layout } = this;
    const typical = (layout.edges.at(-1) ?? 0) / (layout.edges.length - 1);
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step * typical >= 34) ?? 1000;
    pen.textAlign = "left";
    for (let round = from; round <= to; round++) {
      const next = Math.ceil((layout.first + 1) / every) * every;
      if (round % every !== 0 && (round !== layout.first || this.edge(next) < 30)) continue;
      const x = LABEL + this.edge(round) - left;
      pen.fillStyle = colour("line");
      pen.fillRect(Math.round(x) - 2, 6, 1, layout.height - 6);
      pen.fillStyle = colour("quiet");
      if (x + 26 < width) pen.fillText(number(round), x + 2, 14);
    }
    pen.clearRect(0, 0, LABEL - 2, layout.height);
    pen.clearRect(width, 0, 2, layout.height);
  }

  private drawLabels(pen: CanvasRenderingContext2D, colour: (name: string) => string): void {
    pen.fillStyle = colour("quiet");
    pen.fillText("round", 0, 14);
    for (const lane of this.layout.lanes) {
      pen.clearRect(0, lane.top - 4, LABEL - 2, lane.height + 4);
      pen.fillStyle = colour(lane.own ? "accent" : "quiet");
      pen.fillText(visible(lane.seat), 0, lane.top + Math.min(13, lane.height - 2), LABEL - 8);
    }
  }
}

class Painter {
  constructor(private readonly pen: CanvasRenderingContext2D, private readonly cell: number, private readonly colour: (name: string) => string) {}

  private readonly colours = new Map<string, string>();

  private known(name: string): string {
    let value = this.colours.get(name);
    if (value === undefined) this.colours.set(name, (value = this.colour(name)));
    return value;
  }

  // `tone`: accent for the seat under test; refusals of other seats stay as quiet as they are.
  mark(x: number, y: number, kind: string, status: string, shown: boolean, tone: string): void {
    const { pen, cell } = this, size = cell - 1;
    const wrong = status !== "ok";
    pen.globalAlpha = shown ? (wrong ? 1 : STRENGTH[kind] ?? 0.5) : 0.13;
    pen.fillStyle = this.known(wrong && tone !== "quiet" ? "alert" : tone);
    if (cell < 7) pen.fillRect(x, y, cell < 5 ? cell : size, size);
    else if (wrong) this.cross(x, y, size, kind === "lapse");
    else this.shape(x, y, size, kind);
    pen.globalAlpha = 1;
  }

  ring(x: number, y: number, name: string): void {
    const { pen, cell } = this;
    pen.strokeStyle = this.known("paper");
    pen.lineWidth = 4;
    pen.strokeRect(x - 2, y - 2, cell + 3, cell + 3);
    pen.strokeStyle = this.known(name);
    pen.lineWidth = 2;
    pen.strokeRect(x - 2, y - 2, cell + 3, cell + 3);
  }

  private shape(x: number, y: number, size: number, kind: string): void {
    const { pen } = this, half = size / 2;
    pen.beginPath();
    if (kind === "action") {
      pen.moveTo(x + half, y - 0.5);
      pen.lineTo(x + size + 0.5, y + half);
      pen.lineTo(x + half, y + size + 0.5);
      pen.lineTo(x - 0.5, y + half);
    } else if (kind === "analysis") pen.arc(x + half, y + half, half, 0, 7);
    else if (kind === "note") pen.rect(x, y + half - 1, size, 2.5);
    else pen.rect(x + 0.5, y + 0.5, size - 1, size - 1);
    pen.fill();
  }

  private cross(x: number, y: number, size: number, lapse: boolean): void {
    const { pen } = this;
    pen.beginPath();
    if (lapse) {
      pen.moveTo(x, y);
      pen.lineTo(x + size, y);
      pen.lineTo(x + size / 2, y + size);
      pen.fill();
      return;
    }
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2;
    pen.moveTo(x + 1, y + 1);
    pen.lineTo(x + size - 1, y + size - 1);
    pen.moveTo(x + size - 1, y + 1);
    pen.lineTo(x + 1, y + size - 1);
    pen.stroke();
  }
}

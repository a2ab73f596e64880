// The steps of a run as a bar: where findings and refusals are, what is in view; a click or a key goes there.

import type { Opened } from "./data";
import { button, h, replace } from "./dom";
import { number } from "./format";
import { ruleName } from "./parts";
import type { Steps } from "./steps";

// Marks that can be chosen one by one, and thin lines for refusals: more would lie on each other.
const MAX_MARKS = 200, MAX_TICKS = 400;

export class StepBar {
  readonly element: HTMLElement;
  private readonly track = h("div", { class: "track-of-steps" });
  private readonly view = h("span", { class: "in-view", "aria-hidden": "true" });
  private readonly place = h("span", { class: "num quiet" });
  private readonly buttons: HTMLButtonElement[];
  private waiting = false;
  private most = 0;

  constructor(private readonly opened: Opened, private readonly steps: Steps) {
    this.buttons = [button("← finding", () => this.next(-1), { class: "link" }), button("finding →", () => this.next(1), { class: "link" })];
    this.element = h("div", { class: "step-bar" }, this.track, h("div", { class: "bar-line" }, this.place, h("nav", { "aria-label": "Findings" }, this.buttons)));
    this.track.addEventListener("click", (event) => {
      const box = this.track.getBoundingClientRect(), row = steps.shown[Math.floor(((event.clientX - box.left) / box.width) * steps.shown.length)];
      if (event.target === this.track && row !== undefined) void steps.go(row);
    });
    addEventListener("scroll", () => this.later(), { passive: true });
    addEventListener("resize", () => this.later());
    this.draw();
  }

  draw(): void {
    const { shown } = this.steps, at = (place: number): string => `${(100 * (place + 0.5)) / Math.max(1, shown.length)}%`;
    this.most = shown.reduce((most, row) => Math.max(most, this.opened.events.step?.[row] ?? 0), 0);
    const refused = new Set<number>(), found: [number, number][] = [];
    shown.forEach((row, place) => {
      if (this.opened.citedBy.has(this.opened.events.seq[row] ?? 0)) found.push([row, place]);
      else if (!["", "ok"].includes(this.opened.word("status", row))) refused.add(Math.floor((place * MAX_TICKS) / shown.length));
    });
    const marks = found.slice(0, MAX_MARKS).map(([row, place]) => {
      const seq = this.opened.events.seq[row] ?? 0, step = this.opened.events.step?.[row] ?? -1;
      const names = [...new Set((this.opened.citedBy.get(seq) ?? []).map(({ finding }) => ruleName(finding.id)))].join(", ");
      const mark = button("", () => void this.steps.go(row), { class: "mark", title: `step ${step > 0 ? step : `#${seq}`}: ${names}`, "aria-label": `Go to step ${step > 0 ? step : `#${seq}`}: ${names}`, "data-seq": seq });
      mark.style.left = at(place);
      return mark;
    });
    const ticks = [...refused].map((bin) => {
      const tick = h("span", { class: "tick", "aria-hidden": "true" });
      tick.style.left = `${(100 * (bin + 0.5)) / MAX_TICKS}%`;
      return tick;
    });
    replace(this.track, this.view, ticks, marks);
    for (const turn of this.buttons) turn.hidden = marks.length === 0;
    this.later();
  }

  // The finding before or after what is in the middle of the window.
  private next(by: number): void {
    const { shown } = this.steps, [first, last] = this.steps.window(), middle = (first + last) / 2;
    const places = shown.flatMap((row, place) => (this.opened.citedBy.has(this.opened.events.seq[row] ?? 0) ? [place] : []));
    const chosen = by > 0 ? places.find((place) => place > middle + 0.6) ?? places[0] : places.findLast((place) => place < middle - 1.6) ?? places.at(-1);
    const row = chosen === undefined ? undefined : shown[chosen];
    if (row !== undefined) void this.steps.go(row);
  }

  private later(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.element.isConnected) return;
      const { shown } = this.steps, count = Math.max(1, shown.length), [first, last] = this.steps.window();
      this.view.style.left = `${(100 * first) / count}%`;
      this.view.style.width = `${Math.max(0.4, (100 * (last - first)) / count)}%`;
      const named = (place: number): number => this.opened.events.step?.[shown[Math.min(shown.length - 1, Math.floor(place))] ?? 0] ?? 0;
      // What was recorded may end in another order than it began.
      const ends = [named(first), named(Math.max(first, last - 0.01))];
      this.place.textContent = this.most > 0 ? `steps ${number(Math.max(1, Math.min(...ends)))} to ${number(Math.max(1, ...ends))} of ${number(this.most)}` : "";
    });
  }
}

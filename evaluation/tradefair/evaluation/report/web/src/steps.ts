// What was said and called in a foreign run, one row per event. Rows stand in blocks; a block is filled when it comes
// near the window and emptied again far from it, so that ten thousand steps are as many elements as a few screens.

import type { Cited, Cut, Opened } from "./data";
import { button, type Child, foreign, h, replace } from "./dom";
import { bytes, number, seconds } from "./format";
import { textView } from "./json";
import { ruleName } from "./parts";

// Rows of a block; rows up to which all blocks are filled at once, so that print and the browser's search have them.
const BLOCK = 40, SMALL = 240;
// Characters of a message that are shown at once, of a system prompt, and of a call's line.
const LONG = 1_500, PROMPT = 280, LINE = 160;
const NEAR = "1500px 0px";

interface Block { element: HTMLElement; rows: number[]; filled: Promise<void> | null }

export class Steps {
  readonly element = h("div", { class: "steps", role: "feed", "aria-label": "Steps of the run" });
  // Event rows that are shown, in order.
  shown: number[] = [];
  private blocks: Block[] = [];
  private readonly unfolded = new Set<number>();
  private readonly seen: IntersectionObserver;
  private readonly known = new WeakMap<Element, Block>();
  private wanted = "";

  constructor(private readonly opened: Opened, private readonly roles: Map<string, string>) {
    this.seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const block = this.known.get(entry.target);
        if (block) entry.isIntersecting ? void this.fill(block) : this.empty(block);
      }
    }, { rootMargin: NEAR });
  }

  // Show these event rows; `wanted` is marked in their texts.
  show(rows: number[], wanted = ""): void {
    this.seen.disconnect();
    this.shown = rows;
    this.wanted = wanted;
    this.blocks = [];
    for (let from = 0; from < rows.length; from += BLOCK) this.add(rows.slice(from, from + BLOCK));
    replace(this.element, rows.length ? this.blocks.map((block) => block.element) : h("p", { class: "empty" }, "No step fits."));
  }

  // More rows at the end: what is there stays as it is.
  append(rows: number[]): void {
    if (!this.shown.length) return this.show(rows, this.wanted);
    this.shown = [...this.shown, ...rows];
    const last = this.blocks.at(-1), room = last ? BLOCK - last.rows.length : 0;
    if (last && room > 0) {
      last.rows.push(...rows.slice(0, room));
      if (last.filled) {
        last.filled = null;
        void this.fill(last);
      }
    }
    for (let from = room; from < rows.length; from += BLOCK) this.element.append(this.add(rows.slice(from, from + BLOCK)).element);
  }

  // Findings came or went: the rows that they stand at are made anew, unless the reader is in them.
  async renew(): Promise<void> {
    for (const block of this.blocks) {
      if (!block.filled) continue;
      await block.filled;
      for (const row of block.rows) {
        const place = block.element.querySelector(`[data-row="${row}"]`), found = this.found(row).length;
        if (!place || place.contains(document.activeElement) || place.querySelectorAll(".said-of > p").length === found) continue;
        const texts = await this.opened.bodies.row(row);
        if (place.isConnected) place.replaceWith(this.row(row, texts));
      }
    }
  }

  // Bring an event into view; false where it is not shown.
  async go(row: number, focus = true): Promise<boolean> {
    const block = this.blocks.find((some) => some.rows.includes(row));
    if (!block) return false;
    await this.fill(block);
    const place = (): HTMLElement | null => block.element.querySelector<HTMLElement>(`[data-row="${row}"]`);
    // Blocks around it are filled when it comes into view, and then it has moved.
    for (let turn = 0; turn < 3; turn++) {
      place()?.scrollIntoView({ block: "center" });
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    if (focus) place()?.focus({ preventScroll: true });
    return true;
  }

  // The index among the shown rows of what stands at the top and at the bottom of the window.
  window(): [number, number] {
    let before = 0, first = -1, last = 0;
    for (const block of this.blocks) {
      const box = block.element.getBoundingClientRect(), size = block.rows.length;
      const at = (edge: number): number => before + Math.max(0, Math.min(1, (edge - box.top) / Math.max(1, box.height))) * size;
      if (first < 0 && box.bottom > 0) first = at(0);
      if (box.top < innerHeight) last = at(innerHeight);
      else break;
      before += size;
    }
    return [Math.max(0, first), last];
  }

  private add(rows: number[]): Block {
    const block: Block = { element: h("div", { class: "block-of-steps" }), rows, filled: null };
    block.element.style.minHeight = `${rows.reduce((sum, row) => sum + this.guess(row), 0)}px`;
    this.blocks.push(block);
    this.known.set(block.element, block);
    if (this.shown.length <= SMALL) void this.fill(block);
    else this.seen.observe(block.element);
    return block;
  }

  // Pixels that a row may take, before its text is known.
  private guess(row: number): number {
    const size = this.opened.events.size[row] ?? 0;
    return this.opened.word("event", row) === "message" ? 40 + 21 * Math.min(16, Math.floor(size / 90)) : 38;
  }

  private fill(block: Block): Promise<void> {
    block.filled ??= (async () => {
      const texts = await Promise.all(block.rows.map((row) => this.opened.bodies.row(row)));
      if (!block.filled) return;
      replace(block.element, block.rows.map((row, place) => this.row(row, texts[place] ?? [])));
      block.element.style.minHeight = "";
    })();
    return block.filled;
  }

  private empty(block: Block): void {
    if (!block.filled || block.element.contains(document.activeElement)) return;
    block.filled = null;
    block.element.style.minHeight = `${block.element.offsetHeight}px`;
    replace(block.element);
  }

  private found(row: number): Cited[] {
    return this.opened.citedBy.get(this.opened.events.seq[row] ?? 0) ?? [];
  }

  private row(row: number, texts: Cut[]): HTMLElement {
    const { opened } = this, { events } = opened, step = events.step?.[row] ?? -1, seq = events.seq[row] ?? 0;
    const call = opened.word("event", row) === "tool_called", status = opened.word("status", row);
    const seat = opened.word("seat", row), role = opened.word("role", row), deep = this.roles.get(seat) === "subagent" || (events.parent[row] ?? -1) >= 0;
    const cited = this.found(row), kind = call ? "call" : opened.word("part", row) === "reasoning" ? "reasoning" : role;
    return h("article", {
      class: `step ${kind}${call && status !== "ok" ? " wrong" : ""}${cited.length ? " cited" : ""}${deep ? " deep" : ""}`, tabindex: -1,
      "data-row": row, "data-seq": seq, "data-step": step > 0 ? step : null, "aria-label": step > 0 ? `Step ${step}` : `Event ${seq}`,
    },
      h("span", { class: "num at", title: `event ${seq}` }, step > 0 ? number(step) : `#${seq}`),
      h("div", { class: "what" }, call ? this.call(row, texts, seat) : this.message(row, texts[0] ?? null, seat, role)),
      cited.length ? h("div", { class: "said-of" }, cited.map(({ finding, because }) => h("p", { "data-rule": finding.id }, h("b", {}, ruleName(finding.id)), " ", foreign(because)))) : null);
  }

  private message(row: number, text: Cut | null, seat: string, role: string): Child {
    const { opened } = this, part = opened.word("part", row), name = opened.word("speaker", row);
    const who = [role, name || (this.roles.size > 1 ? seat : "")].filter(Boolean).join(" · ");
    const said = text?.text ?? "", whole = text?.length ?? said.length;
    const head = h("span", { class: "who" }, foreign(who || "event"), part === "text" || part === "" ? null : h("span", { class: "tag" }, part));
    if (part === "media") return [head, h("p", { class: "aside" }, foreign(mediaText(said)))];
    if (part === "protocol") return [head, this.fold(row, foreign(said.slice(0, LINE)), () => textView(said, text?.length ?? null))];
    if (part === "reasoning") return [head, this.fold(row, foreign(said.slice(0, LINE)), () => this.prose(row, said, whole, whole))];
    return [head, this.prose(row, said, whole, role === "system" ? PROMPT : LONG)];
  }

  // A text as it was written; of a long one the beginning, and a button for the rest.
  private prose(row: number, said: string, whole: number, most: number): Child {
    const open = this.unfolded.has(row) || this.wanted !== "" || said.length <= most * 1.2;
    const block = h("pre", { dir: "auto" }, this.marked(open ? said : said.slice(0, most)), open ? null : " …");
    const more = open ? null : button(`all ${number(said.length)} characters`, () => {
      this.unfolded.add(row);
      replace(block, this.marked(said));
      more?.remove();
    }, { class: "link" });
    return [block, more, whole > said.length ? h("p", { class: "aside" }, `Cut: ${number(said.length)} of ${number(whole)} characters. The trace has all of it.`) : null];
  }

  private call(row: number, [given, answer]: Cut[], seat: string): Child {
    const { opened } = this, status = opened.word("status", row), latency = opened.events.latency_us[row] ?? -1;
    const line = h("span", { class: "line" },
      this.roles.size > 1 ? h("span", { class: "who" }, foreign(seat)) : null,
      h("b", { class: "tool" }, foreign(opened.word("tool", row))), h("span", { class: "tool" }, "(", this.marked(plain(given?.text ?? "").slice(0, LINE)), ")"),
      h("span", { class: "quiet" }, " → "), h("span", { class: "tool answer" }, status === "ok" ? null : h("b", { class: "state wrong" }, status === "failed" ? "failed " : "refused "), this.marked(inShort(answer?.text ?? "no answer").slice(0, LINE) || "(empty)")));
    const aside = latency >= 0 ? h("span", { class: "num quiet took" }, seconds(latency / 1e6)) : null;
    return [this.fold(row, line, () => [
      h("h4", {}, "Arguments"), given?.text ? textView(given.text, given.length) : h("p", { class: "aside" }, "none"),
      h("h4", {}, status === "ok" ? "Answer" : `Refused: ${status}`), answer?.text ? textView(answer.text, answer.length) : h("p", { class: "aside" }, "The trace holds no answer."),
    ]), aside];
  }

  private fold(row: number, line: Child, build: () => Child): HTMLElement {
    const details = h("details", { open: this.unfolded.has(row) }, h("summary", {}, line));
    const make = (): void => {
      if (details.open && details.children.length === 1) details.append(h("div", { class: "whole" }, build()));
      if (details.open) this.unfolded.add(row);
      else this.unfolded.delete(row);
    };
    details.addEventListener("toggle", make);
    if (details.open) make();
    return details;
  }

  private marked(text: string): Child {
    return marked(text, this.wanted);
  }
}

// The text with what was looked for marked in it.
export function marked(text: string, looked: string): Child {
  if (!looked) return text;
  const parts: Child[] = [], lower = text.toLowerCase(), wanted = looked.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), h("mark", {}, text.slice(at, at + wanted.length)));
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}

// Arguments as a reader of code would write them: {"order_id":"W7"} is order_id: "W7".
function plain(text: string): string {
  return text.startsWith("{") && text.endsWith("}") ? text.slice(1, -1).replace(/"([A-Za-z_]\w*)":/g, "$1: ").replaceAll('","', '", "').replace(/,(?=[A-Za-z_]\w*: )/g, ", ") : text;
}

// The texts of an MCP answer; any other answer as it is. All of it is there when the call is opened.
function inShort(text: string): string {
  if (!/^\{"(content":\[|text":")/.test(text)) return text;
  try {
    const { text: alone, content = [], ...more } = JSON.parse(text) as { text?: string; content?: { type?: string; text?: string }[] };
    if (Object.keys(more).length) return text;
    return alone ?? content.map((part) => (typeof part.text === "string" ? part.text : `[${String(part.type ?? "part")}]`)).join(" ");
  } catch {
    return text;
  }
}

function mediaText(text: string): string {
  try {
    const { media_type: kind, size, digest } = JSON.parse(text) as Record<string, unknown>;
    return `${String(kind ?? "media")}${typeof size === "number" ? `, ${bytes(size)}` : ""}; its bytes are not in the trace${digest ? ` (${String(digest).slice(0, 12)})` : ""}`;
  } catch {
    return text;
  }
}

// One event in full, in a panel beside the page: request, result, what the model saw and said, who cites it.

import type { Opened } from "./data";
import { button, type Child, foreign, freshId, h, replace } from "./dom";
import { markKind } from "./filter";
import type { Opener } from "./lead";
import { turnPart } from "./ledgers";
import { modeName } from "./parts";
import { dollars, number, plural, seconds, words } from "./format";
import { isNull, jsonView, member, parseRaw, stringOf, textView, type Tree } from "./json";

export class Detail {
  readonly element: HTMLElement;
  private readonly title = h("h2", { id: freshId("detail"), tabindex: -1 });
  private readonly body = h("div", { class: "body" });
  private opener: Opener | null = null;
  private opened: Opened | null = null;
  private row = -1;
  private ticket = 0;

  // `moved` hears which event is shown, −1 when none is; `rawUrl` names where the viewer serves the bare event;
  // `messages` shows what the model was sent before a reply.
  constructor(
    private readonly moved: (opened: Opened, row: number) => void, private readonly rawUrl: (opened: Opened, seq: number) => string | null,
    private readonly messages: (opened: Opened, note: number) => void,
  ) {
    this.element = h("aside", { class: "detail", "aria-labelledby": this.title.id, hidden: true },
      h("header", {}, this.title,
        h("nav", { "aria-label": "Events" },
          button("←", () => this.step(-1), { "aria-label": "Previous event", class: "icon" }),
          button("→", () => this.step(1), { "aria-label": "Next event", class: "icon" }),
          button("Close", () => this.close(), { class: "close" }))), this.body);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.element.hidden) this.close();
    });
  }

  open(opened: Opened, row: number, opener: Opener | null): void {
    if (row < 0 || row >= opened.events.seq.length) return;
    if (opener && !this.element.contains(opener)) this.opener = opener;
    this.opened = opened;
    this.element.hidden = false;
    void this.show(row, true);
  }

  close(): void {
    this.element.hidden = true;
    if (this.opened) this.moved(this.opened, -1);
    this.opener?.focus();
  }

  private step(by: number): void {
    const row = this.row + by;
    if (this.opened && row >= 0 && row < this.opened.events.seq.length) void this.show(row, false);
  }

  private async show(row: number, focus: boolean): Promise<void> {
    const { opened } = this, ticket = ++this.ticket;
    if (!opened) return;
    this.row = row;
    replace(this.title, ...heading(opened, row));
    if (focus) this.title.focus({ preventScroll: true });
    this.moved(opened, row);
    const asked = opened.events.reply[row] ?? -1;
    const sent = asked < 0 ? null : button("messages that led to it", () => this.messages(opened, asked), { class: "link messages" });
    const content = await contents(opened, row, (other) => this.link(other), this.rawUrl(opened, opened.events.seq[row] ?? 0), sent);
    if (ticket !== this.ticket) return;
    replace(this.body, content);
    this.body.scrollTop = 0;
  }

  private link(row: number): HTMLElement {
    const { opened } = this;
    return button(`#${opened?.events.seq[row] ?? ""}`, () => void this.show(row, true), { class: "link num" });
  }
}

function heading(opened: Opened, row: number): Child[] {
  const event = opened.word("event", row);
  const name = event === "tool_called" ? opened.word("tool", row) : words(event || "not an event");
  return [h("span", { class: "num quiet" }, `#${opened.events.seq[row]}`), " ", foreign(name)];
}

function facts(rows: [string, Child][]): HTMLElement {
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value !== "" && value !== null).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function part(title: string, ...children: Child[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), children);
}

async function contents(opened: Opened, row: number, link: (row: number) => HTMLElement, raw: string | null, sent: HTMLElement | null): Promise<Child[]> {
  const { events } = opened;
  const [body, result] = await opened.bodies.row(row);
  const tree = body?.text && body.length === null ? parseRaw(body.text) : null;
  const call = opened.word("event", row) === "tool_called";
  const latency = events.latency_us[row] ?? -1, parent = events.parent[row] ?? -1;
  const inner = opened.children.get(row) ?? [];
  const shown: Child[] = [
    turnPart(opened, events.seq[row] ?? 0), citations(opened, row),
    facts([
      ["outcome", call ? statusBadge(opened.word("status", row)) : ""],
      ["seat", foreign(opened.word("seat", row))], ["round", number(events.round[row])], ["phase", foreign(opened.word("phase", row))],
      ["kind", call ? markKind(opened, row) : ""], ["took", latency >= 0 ? seconds(latency / 1e6) : ""],
      ["made by", opened.clicked.has(row) ? "a person, on the board" : ""], ["called from", parent >= 0 ? link(parent) : ""],
    ]),
  ];
  if (opened.page.foreign) shown.push(part("Arguments", body?.text ? textView(body.text, body.length) : null), part("Answer", result?.text ? textView(result.text, result.length) : null));
  else if (tree && call) shown.push(...callParts(tree, result ?? null, opened.word("status", row)));
  else if (tree) shown.push(...otherParts(tree));
  if (inner.length) shown.push(part("Calls made inside", h("p", { class: "links" }, inner.slice(0, 200).map((child) => [link(child), " "]))));
  if (call && !opened.page.foreign && opened.word("seat", row)) shown.push(await context(opened, row, link, sent));
  if (body?.text && !opened.page.foreign) {
    const bare = h("details", {}, h("summary", {}, "Event as it is stored"), textView(body.text, body.length));
    shown.push(bare, raw ? h("p", {}, h("a", { href: raw, target: "_blank", rel: "noopener" }, "Raw JSON")) : null);
  }
  return shown;
}

function statusBadge(status: string): HTMLElement {
  return h("span", { class: status === "ok" ? "state" : "state wrong" }, h("span", { class: `glyph ${status === "ok" ? "fine" : "refused"}`, "aria-hidden": "true" }), status);
}

function citations(opened: Opened, row: number): Child {
  const found = opened.citedBy.get(opened.events.seq[row] ?? 0) ?? [];
  return found.length ? h("ul", { class: "cites" }, found.map(({ finding, because }) => h("li", { "data-mode": finding.id },
    foreign(because), h("p", {}, h("b", {}, modeName(finding.id)))))) : null;
}

function callParts(tree: Tree, result: { text: string | null; length: number | null } | null, status: string): Child[] {
  const error = member(tree, "error"), args = member(tree, "arguments"), inline = member(tree, "result");
  const parts: Child[] = [part("Request", args ? jsonView(args) : null)];
  if (!isNull(error)) {
    const hint = stringOf(member(error, "hint"));
    parts.push(part("Refusal", h("p", { class: "refusal" }, h("b", {}, stringOf(member(error, "code")) ?? status), " ", foreign(stringOf(member(error, "message")) ?? "")), hint ? h("p", {}, foreign(hint)) : null));
  }
  if (result?.text) parts.push(part("Result", textView(result.text, result.length)));
  else if (inline && !isNull(inline)) parts.push(part("Result", jsonView(inline)));
  else if (isNull(error)) parts.push(part("Result", h("p", { class: "aside" }, "The trace holds only its digest.")));
  return parts;
}

function otherParts(tree: Tree): Child[] {
  const titles: [string, string][] = [["reason", "Reason"], ["default_action", "Default action"], ["public", "What everyone sees"], ["facts", "Hidden facts"], ["source", "Source"], ["payload", "Input"]];
  return titles.flatMap(([name, title]) => {
    const value = member(tree, name);
    return value && !isNull(value) ? [part(title, jsonView(value))] : [];
  });
}

// The reply that asked for this call, what else the agent noted in the round, and what it had been shown before.
async function context(opened: Opened, row: number, link: (row: number) => HTMLElement, sent: HTMLElement | null): Promise<Child> {
  const { events, notes } = opened;
  const seat = opened.word("seat", row), round = events.round[row] ?? 0, asked = events.reply[row] ?? -1;
  const before: number[] = [];
  for (let other = row - 1; other >= 0 && (events.round[other] ?? 0) >= round; other--)
    if (events.round[other] === round && opened.word("seat", other) === seat && opened.word("event", other) === "tool_called" && (events.parent[other] ?? -1) < 0) before.push(other);
  before.reverse();
  const beside = notes.seat.flatMap((name, place) => (name === seat && notes.round[place] === round && place !== asked && notes.kind[place] !== "model_call" ? [place] : []));
  return part("What the model saw and said",
    asked >= 0 ? [await note(opened, asked, "The reply that asked for this call"), sent] : h("p", { class: "aside" }, notes.seat.includes(seat) ? "No reply is noted for this call." : "No model was asked: a scripted policy, or a client that keeps its own record."),
    before.length
      ? h("details", {}, h("summary", {}, `Shown earlier in this round: ${plural(before.length, "answer")}`),
          h("ol", { class: "seen" }, before.slice(-300).map((other) => h("li", {}, link(other), " ", foreign(opened.word("tool", other)), opened.word("status", other) === "ok" ? "" : ` · ${opened.word("status", other)}`))))
      : h("p", { class: "aside" }, "The first call of the seat in this round."),
    await Promise.all(beside.slice(0, 20).map((place) => note(opened, place, words(notes.kind[place] ?? "note")))));
}

async function note(opened: Opened, place: number, title: string): Promise<HTMLElement> {
  const { notes } = opened;
  const [cut] = await opened.noteTexts.row(place);
  const tree = cut?.text && cut.length === null ? parseRaw(cut.text) : null;
  const text = stringOf(member(tree, "text"));
  const sum = (name: "input_tokens" | "output_tokens") => ((notes[name][place] ?? -1) >= 0 ? number(notes[name][place]) : "");
  const latency = notes.latency_ms[place] ?? -1, cost = notes.cost_usd_micro[place] ?? -1;
  return h("div", { class: "note" }, h("h4", {}, title),
    facts([
      ["model", foreign(stringOf(member(tree, "model")) ?? "")], ["role", stringOf(member(tree, "role")) ?? ""],
      ["tokens in", sum("input_tokens")], ["tokens out", sum("output_tokens")], ["took", latency >= 0 ? seconds(latency / 1000) : ""],
      ["cost", cost >= 0 ? dollars(cost) : ""], ["finished", stringOf(member(tree, "finish_reason")) ?? ""],
    ]),
    text ? h("pre", { class: "said", dir: "auto", tabindex: 0 }, text) : tree && notes.kind[place] === "model_call" ? h("p", { class: "aside" }, "No text beside the calls.") : null,
    notes.kind[place] !== "model_call" && cut?.text ? textView(cut.text, cut.length) : null);
}

// The board: a page of one seat inside a host of MCP Apps. It asks for the state every two seconds, looks only when
// that has changed, and calls the seat's tools for the person in front of it.

import { Forms, refusal } from "./board-actions";
import { amount, type Answer, answerOf, type BoardState, field, Known, list, stateOf, text, type Turn, turnOf } from "./board-data";
import { begun } from "./board-fields";
import type { Part } from "./board-parts";
import { type Look, plainView, rulesPart, type View, viewOf } from "./board-views";
import { button, type Child, foreign, h, replace } from "./dom";
import { endWords, number, words } from "./format";
import { isObject, type Json, Peer, UI_VERSION } from "./peer";
import { useTheme } from "./theme";

const EVERY_MS = 2_000, HIDDEN_MS = 10_000, OVER_MS = 20_000, MAX_PAGES = 6;

// A part of the page that is drawn anew only when its content changes, and keeps what was open, scrolled and focused.
class Region {
  readonly element = h("div", {});
  private drawn = "";

  show(signature: string, ...children: Child[]): void {
    if (signature === this.drawn) return;
    this.drawn = signature;
    const open = new Map([...this.element.querySelectorAll<HTMLDetailsElement>("details[data-key]")].map((fold) => [fold.dataset["key"], fold.open]));
    const held = this.element.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset["key"] : undefined;
    replace(this.element, ...children);
    for (const fold of this.element.querySelectorAll<HTMLDetailsElement>("details[data-key]")) fold.open = open.get(fold.dataset["key"]) ?? fold.open;
    for (const log of this.element.querySelectorAll("[data-end]")) log.scrollTop = log.scrollHeight;
    if (held !== undefined) [...this.element.querySelectorAll<HTMLElement>("[data-key]")].find((other) => other.dataset["key"] === held)?.focus();
  }
}

class Board {
  private known: Known | null = null;
  private view: View = plainView;
  private readonly peer: Peer;
  private readonly head = new Region();
  private readonly parts = new Region();
  private readonly trouble = h("div", { role: "alert" });
  private readonly spoken = h("p", { class: "hidden", role: "status", "aria-live": "polite" });
  private readonly actions: Forms;
  private readonly looks: Forms;
  private readonly acting = h("section", { class: "acting", "aria-label": "Your moves", hidden: true });
  private readonly looking = h("details", { class: "part", hidden: true }, h("summary", {}, h("h2", {}, "Look something up")));
  private seen = "";
  private turn = "";
  private tool = "";
  private scarce = "";
  private refused: string[] = [];
  private timer = 0;
  private busy: Promise<unknown> | null = null;
  private canCall = true;
  private pointed = false;
  private stale = false;

  constructor() {
    const call = (tool: string, values: Json, key?: string): Promise<Answer> => this.call(tool, values, key);
    const choices = (parameter: string) => (this.known ? (this.view.choices?.(this.known, parameter) ?? []) : []);
    this.actions = new Forms("Your moves", false, call, choices, (answer) => this.acted(answer));
    this.looks = new Forms("Looks", true, call, choices, () => this.draw());
    this.acting.append(this.actions.element);
    this.looking.append(h("p", { class: "aside" }, "Each look is a call of this seat, and is kept in the trace."), this.looks.element);
    replace(document.getElementById("app") ?? document.body, h("main", { class: "board" }, this.head.element, this.spoken, this.trouble, this.acting, this.parts.element, this.looking));
    this.head.show("…", h("p", { class: "quiet" }, "Connecting …"));
    this.peer = new Peer(() => (window.parent === window ? null : window.parent), {
      "ui/notifications/tool-input": () => undefined,
      "ui/notifications/tool-result": (result) => this.pushed(result),
      "ui/notifications/tool-cancelled": () => undefined,
      "ui/notifications/host-context-changed": (context) => this.use(context),
      "ui/resource-teardown": () => {
        clearTimeout(this.timer);
        this.canCall = false;
        return {};
      },
      ping: () => ({}),
    });
    document.addEventListener("visibilitychange", () => document.hidden || void this.again());
  }

  async start(): Promise<void> {
    const answer = await this.peer.request("ui/initialize", { appInfo: { name: "tradefair-board", version: "1" }, appCapabilities: {}, protocolVersion: UI_VERSION });
    this.use(isObject(answer["hostContext"]) ? answer["hostContext"] : {});
    this.canCall = field(answer, "hostCapabilities", "serverTools") !== undefined;
    this.peer.notify("ui/notifications/initialized");
    this.tellSize();
    if (this.canCall) await this.again();
    else this.head.show("no calls", h("p", { class: "quiet" }, "This client shows what its model is told; it lets pages call nothing."));
  }

  private use(context: Json): void {
    if ("theme" in context) useTheme(context["theme"]);
    const inset = field(context, "safeAreaInsets");
    if (inset !== undefined) document.body.style.padding = ["top", "right", "bottom", "left"].map((side) => `${Math.max(0, Number(field(inset, side)) || 0)}px`).join(" ");
    this.tool = text(field(context, "toolInfo", "tool", "name")) || this.tool;
  }

  private tellSize(): void {
    let told = "";
    new ResizeObserver(() => {
      const { width, height } = document.documentElement.getBoundingClientRect(), size = { width: Math.ceil(width), height: Math.ceil(height) };
      if (JSON.stringify(size) === told) return;
      told = JSON.stringify(size);
      this.peer.notify("ui/notifications/size-changed", size);
    }).observe(document.documentElement);
  }

  // --- calls --------------------------------------------------------------------------------------------------------

  // One call of the seat, as an event by a person. Rejects when no answer came.
  private async call(tool: string, values: Json, key?: string): Promise<Answer> {
    const answer = answerOf(await this.peer.request("tools/call", { name: "board_call", arguments: { tool, arguments: values, ...(key ? { key } : {}) } }));
    this.known?.learn(tool, answer);
    if (this.known && answer.turnOver && !answer.refused) {
      this.known.state.turn.awaited = this.known.state.open = false;
      this.draw();
    }
    return answer;
  }

  private acted(answer: Answer): void {
    // What the seat has done changes what it sees, though no round has closed.
    if (!answer.refused) this.seen = "";
    void this.again();
  }

  // The result of a call that the chat made: shown at once, and a reason to ask anew.
  private pushed(result: Json): void {
    const answer = answerOf(result), turn = turnOf(answer.data);
    if (answer.refused) replace(this.trouble, h("p", { class: "quiet" }, "The last call of the chat:"), refusal(answer));
    if (!this.canCall) this.told(answer, turn ?? turnOf(field(result["_meta"], "tradefair/turn")), turn === null);
    else if (this.known && turn) this.known.state.turn = turn;
    else if (this.known && this.tool) this.known.learn(this.tool, answer);
    void this.again();
    this.draw();
  }

  // Where a page may call nothing, what the chat's calls answer is all there is.
  private told(answer: Answer, turn: Turn | null, look: boolean): void {
    if (!this.known && turn) this.known = new Known({ market: "", scenario: "", seat: turn.seat, title: "", revision: 0, open: false, over: false, turn, actions: [], reads: [] });
    if (!this.known) return;
    const { state } = this.known;
    // A clock without a name is that of the answer's margin: round and phase only.
    if (turn) Object.assign(state, { turn: turn.seat ? turn : { ...state.turn, round: turn.round, phase: turn.phase }, over: turn.over });
    if (!look || !this.tool) return;
    if (!state.reads.some((read) => read.name === this.tool)) state.reads.push({ name: this.tool, title: begun(this.tool), description: "", inputSchema: {}, endsTurn: false, destructive: false });
    this.known.learn(this.tool, answer);
  }

  // A host may end with its episode: what is drawn then stays.
  private again(): Promise<unknown> {
    clearTimeout(this.timer);
    if (!this.canCall) return Promise.resolve();
    // What was asked before a call says nothing of what the call has done.
    this.stale = this.busy !== null;
    this.busy ??= this.ask().catch(() => this.known?.state.over || this.broken("The market does not answer; trying again …")).finally(() => {
      this.busy = null;
      const over = this.known?.state.over ?? false;
      if (this.canCall) this.timer = window.setTimeout(() => void this.again(), this.stale ? 0 : over ? OVER_MS : document.hidden ? HIDDEN_MS : EVERY_MS);
    });
    return this.busy;
  }

  private broken(message: string): void {
    if (this.trouble.textContent !== message) replace(this.trouble, h("p", { class: "warning broken" }, message));
  }

  private async ask(): Promise<void> {
    const answer = answerOf(await this.peer.request("tools/call", { name: "board_state", arguments: {} })), state = stateOf(answer.data);
    if (answer.refused || !state) {
      this.broken(`The market refused: ${answer.refused?.message ?? "an answer that cannot be read"}`);
      return;
    }
    if (this.trouble.querySelector(".broken")) replace(this.trouble);
    if (!this.known || this.known.state.market !== state.market || this.known.state.seat !== state.seat || this.known.state.scenario !== state.scenario) this.known = new Known(state);
    this.known.state = state;
    const closed = state.turn.market["last"], day = field(closed, "day");
    if (isObject(closed) && typeof day === "number") this.known.keep("turn", "last", day, closed);
    this.view = viewOf(state.market);
    const moment = JSON.stringify([state.revision, state.turn.revision, state.turn.round, state.turn.phase, state.turn.awaited, state.open, state.over]);
    if (moment !== this.seen) await this.look(this.known, moment, false);
    this.draw();
  }

  // All looks of the market's view, unless they would use up what the seat may still look.
  private async look(known: Known, moment: string, asked: boolean): Promise<void> {
    const wanted = this.view.looks(known);
    const tight = known.state.turn.limits.find((limit) => limit.counts.includes("read") && limit.max - limit.used < 2 * wanted.length + 2);
    this.scarce = tight && !asked ? `${number(tight.max - tight.used)} of ${number(tight.max)} calls are left in this ${tight.per}` : "";
    this.seen = moment;
    this.refused = [];
    if (this.scarce) return;
    for (const look of wanted) await this.pages(known, look);
    // A first look may show what to look at next: the products of a shelf.
    for (const look of this.view.looks(known)) if (!wanted.some((done) => done.tool === look.tool)) await this.pages(known, look);
  }

  private async pages(known: Known, look: Look): Promise<void> {
    let values = look.values;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = answerOf(await this.peer.request("tools/call", { name: "board_call", arguments: { tool: look.tool, arguments: values } }));
      // Whether a market answers after its end is its host's affair.
      if (answer.refused && answer.refused.code !== "episode_over") this.refused.push(`${words(look.tool)}: ${answer.refused.message}`);
      const news = known.learn(look.tool, answer), next = field(answer.data, "next_cursor"), more = field(answer.data, "more");
      // Lists that begin with the oldest row say whether there is more; of those that begin with the newest, older rows
      // follow that are known as soon as one is.
      if (next === null || next === undefined || !(more ?? news)) return;
      const schema = known.state.reads.find((read) => read.name === look.tool)?.inputSchema;
      values = { ...look.values, [field(schema, "properties", "after") === undefined ? "cursor" : "after"]: next };
    }
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  private draw(): void {
    const { known } = this;
    if (!known) return;
    const { state } = known, wanted = this.wanted(state);
    this.drawHead(known, wanted);
    this.acting.hidden = state.over || state.actions.length === 0;
    this.looking.hidden = !this.canCall || state.reads.length === 0;
    const fill = (tool: string): Json => this.view.fill?.(known, tool) ?? {};
    this.actions.update(known, state.actions, wanted, fill, this.view.unit);
    // A market where one has to ask for something before one can act: the question is there at once.
    const next = list(state.turn.market["next_calls"]), read = state.reads.find((look) => next.includes(look.name) && list(look.inputSchema["required"]).length > 0);
    if (read && !this.pointed) this.looking.open = this.pointed = true;
    this.looks.update(known, state.reads, read?.name, fill);
    const parts = this.read(known);
    this.parts.show(JSON.stringify([parts.map((part) => part.key), this.signature(known), this.scarce, this.refused]), this.note(known), parts.map((part) => h("section", { id: `part-${part.key}`, "aria-labelledby": `title-${part.key}` }, h("h2", { id: `title-${part.key}` }, foreign(part.name)), part.content)), rulesPart(known));
    document.body.dataset["ready"] = state.market;
  }

  // What the parts are made of: as long as it is the same, nothing is drawn anew.
  private signature(known: Known): unknown {
    return [known.state.reads.map((read) => known.get(read.name)), known.state.turn.market, known.state.turn.round, known.state.over];
  }

  private read(known: Known): Part[] {
    try {
      return this.view.parts(known, (tool, values) => this.actions.open(tool, values));
    } catch {
      // An answer in another form than this view knows: its tables show it as it is.
      return plainView.parts(known, () => undefined);
    }
  }

  private note(known: Known): Child {
    return [
      this.scarce ? h("p", { class: "warning" }, `${this.scarce}: the page does not look by itself. `, button("Look now", () => void this.look(known, this.seen, true).then(() => this.draw()), { class: "link", "data-key": "look" })) : null,
      this.refused.length ? h("details", { class: "block", "data-key": "refused" }, h("summary", {}, `Refused looks (${this.refused.length})`), h("ul", {}, this.refused.map((message) => h("li", {}, foreign(message))))) : null,
    ];
  }

  private wanted(state: BoardState): string | undefined {
    const names = state.actions.map((action) => action.name), next = list(state.turn.market["next_calls"]).map(text);
    return [this.view.wanted?.(state.turn), ...next, ...state.turn.actions].find((name) => name !== undefined && names.includes(name)) ?? names[0];
  }

  private drawHead(known: Known, wanted: string | undefined): void {
    const { state } = known, { turn } = state, unit = this.view.unit ?? "round", move = state.actions.find((action) => action.name === wanted)?.title;
    const total = turn.market[`${unit}s`], left = turn.market[`${unit}s_left`], step = amount(turn.market[turn.phase]);
    const all = typeof total === "number" ? ` of ${number(total)}` : typeof left === "number" ? ` of ${number(turn.round + left - (state.over ? 0 : 1))}` : "";
    const heading = state.over ? "The episode is over" : turn.awaited ? "Your turn" : state.open ? "You may act at any time" : "Waiting for the others";
    const second = state.over ? [foreign(endWords(turn.end_reason))] : turn.awaited && move ? ["Awaited: ", foreign(move.charAt(0).toLowerCase() + move.slice(1))] : [state.open ? "The market waits for nobody: its clock goes on" : "Nothing is asked of you now"];
    const limits = turn.limits.filter((limit) => limit.used > 0 && limit.max > 0).map((limit) => `Calls used this ${limit.per === "round" ? unit : limit.per}: ${number(limit.used)} of ${number(limit.max)} (${limit.counts.map(words).join(", ")})`);
    let figures: [string, string][] = [];
    try {
      figures = this.view.figures(known);
    } catch {
      figures = plainView.figures(known);
    }
    this.head.show(JSON.stringify([heading, state.scenario, turn, move, figures, limits]),
      h("header", {},
        h("p", { class: "strip" }, h("span", {}, foreign(state.scenario), " · ", h("b", {}, foreign(turn.seat)), turn.role && turn.role !== turn.seat ? [", ", foreign(turn.role)] : null), h("span", { class: "num" }, `${unit} ${number(turn.round)}${all}`, turn.phase === unit ? null : [" · ", foreign(words(turn.phase)), step === null ? null : ` ${number(step)}`])),
        h("h1", { class: turn.awaited && !state.over ? "awaited" : "" }, heading), h("p", { class: "second" }, second),
        h("dl", { class: "grid" }, figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, foreign(value))))),
        limits.length ? h("p", { class: "aside" }, limits.join(" · ")) : null));
    const spoken = `${heading}. ${begun(unit)} ${number(turn.round)}, ${words(turn.phase)}.`;
    if (spoken !== this.turn) this.spoken.textContent = spoken;
    this.turn = spoken;
  }
}

void new Board().start();

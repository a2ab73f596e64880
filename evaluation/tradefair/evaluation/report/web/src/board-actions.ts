// The forms of a seat's tools: one at a time, kept as they are while the market moves on, with what came of the last call.

import { button, type Child, foreign, freshId, h, replace } from "./dom";
import { type Answer, type BoardState, field, type Known, list, type Offered } from "./board-data";
import { type Choices, fieldsOf } from "./board-fields";
import { general, said } from "./board-general";
import { prose } from "./parts";
import type { Json } from "./peer";

export type Call = (tool: string, values: Json, key?: string) => Promise<Answer>;
// An optional parameter that refuses the call in any other round than the one shown, named as the market calls its
// rounds: the page fills it in.
function guardOf(tool: Offered, unit: string): string | undefined {
  const properties = field(tool.inputSchema, "properties"), needed = list(field(tool.inputSchema, "required"));
  return ["round", unit].find((name) => field(properties, name) !== undefined && !needed.includes(name));
}

function freshKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Why a call did not go through, and what to do next.
export function refusal({ refused }: Answer): HTMLElement {
  return h("div", { class: "refusal" }, h("p", {}, h("b", {}, "Refused: "), foreign(refused?.message ?? "")), refused?.hint ? h("p", {}, foreign(refused.hint)) : null,
    refused?.code ? h("p", { class: "tool quiet" }, foreign(refused.code)) : null);
}

// What a tool says of itself: its first sentences, and the rest for those who ask.
function described(description: string): Child {
  const [first, ...rest] = description.split(/\n\s*\n/).map((part) => part.replaceAll(/\s*\n\s*/g, " ").trim()).filter(Boolean);
  return [first ? h("p", { class: "about" }, prose(first)) : null, rest.length ? h("details", { class: "block about" }, h("summary", {}, "more about it"), rest.map((part) => h("p", {}, prose(part)))) : null];
}

// One tool's form.
class Form {
  readonly element: HTMLElement;
  private readonly fields;
  private readonly act: HTMLButtonElement;
  private readonly sure = h("div", { class: "sure", role: "group", hidden: true });
  private readonly guard: string | undefined;
  private round = 0;
  private dirty = false;
  private begins: Json = {};
  // The same key until an answer came: what was lost on the way is not done twice.
  private key = "";

  constructor(private readonly tool: Offered, unit: string, private readonly call: Call, choices: Choices, private readonly look: boolean, private readonly said: HTMLElement, private readonly done: (answer: Answer) => void) {
    this.guard = look ? undefined : guardOf(tool, unit);
    this.fields = fieldsOf(tool.inputSchema, tool.inputSchema, choices, this.guard ? [this.guard] : []);
    const parts = (which: boolean): HTMLElement[] => this.fields.fields.filter(([, , first]) => first === which).map(([, part]) => part.element);
    const [needed, optional] = parts(true).length ? [parts(true), parts(false)] : [parts(false), []];
    const title = freshId("form");
    this.act = button(tool.title, () => this.ask(), { class: look ? "act" : "act main" });
    this.element = h("div", { class: "tool-form", role: "group", "aria-labelledby": title, "data-tool": tool.name },
      h("h3", { id: title }, foreign(tool.title)), described(tool.description),
      h("div", { class: "form" }, needed), optional.length ? h("details", { class: "block" }, h("summary", {}, "options"), h("div", { class: "form" }, optional)) : null,
      h("div", { class: "go" }, this.act, this.sure));
    this.element.addEventListener("input", () => {
      this.dirty = true;
      this.key = "";
      this.sure.hidden = true;
    });
    this.element.addEventListener("keydown", (event) => {
      const where = event.target;
      const sends = where instanceof HTMLInputElement || (where instanceof HTMLTextAreaElement && (event.ctrlKey || event.metaKey));
      if (event.key !== "Enter" || event.isComposing || !sends) return;
      event.preventDefault();
      this.ask();
    });
  }

  // Nothing is typed or about to be: another form may take its place.
  get untouched(): boolean {
    const at = document.activeElement;
    return !this.dirty && !(this.element.contains(at) && at instanceof HTMLElement && at.matches("input, select, textarea"));
  }

  focus(): void {
    this.element.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
  }

  // What the seat would do from scratch: lines for what it may bid on, the side on which it trades.
  begin(values: Json): void {
    this.begins = values;
    this.fill(values);
  }

  fill(values: Json): void {
    this.fields.set(values);
    this.dirty = false;
  }

  enable(state: BoardState): void {
    const open = this.look || (state.open && state.turn.actions.includes(this.tool.name));
    this.round = state.turn.round;
    this.act.setAttribute("aria-disabled", String(!open));
    const last = this.act.childNodes[0];
    if (last) last.textContent = this.guard && open ? `${this.tool.title} · ${this.guard} ${this.round}` : this.tool.title;
  }

  private ask(): void {
    if (this.act.getAttribute("aria-disabled") === "true" || this.act.getAttribute("aria-busy") === "true") return;
    const held = this.fields.read();
    for (const wrong of this.element.querySelectorAll("[aria-invalid]")) wrong.removeAttribute("aria-invalid");
    if (held.problem !== undefined) {
      held.at?.setAttribute("aria-invalid", "true");
      replace(this.said, h("p", { class: "refusal" }, foreign(held.problem)));
      held.at?.closest("details")?.setAttribute("open", "");
      held.at?.focus();
      return;
    }
    const values = { ...(held.value as Json), ...(this.guard ? { [this.guard]: this.round } : {}) };
    if (!this.tool.destructive) return void this.send(values);
    const yes = button("Yes, do it", () => void this.send(values), { class: "act main" });
    replace(this.sure, h("span", {}, "It cannot be taken back."), yes, button("Cancel", () => {
      this.sure.hidden = true;
      this.act.focus();
    }, { class: "link" }));
    this.sure.hidden = false;
    yes.focus();
  }

  private async send(values: Json): Promise<void> {
    const back = this.element.contains(document.activeElement);
    this.sure.hidden = true;
    this.act.setAttribute("aria-busy", "true");
    replace(this.said, h("p", { class: "quiet" }, "Sending …"));
    this.key ||= this.look ? "" : freshKey();
    try {
      const answer = await this.call(this.tool.name, values, this.key);
      this.key = "";
      replace(this.said, h("p", { class: answer.refused ? "quiet" : this.look ? "label" : "done" }, foreign(this.tool.title), answer.refused || this.look ? "" : ": done"), answer.refused ? refusal(answer) : general(this.look ? answer.data : said(answer.data)));
      if (!answer.refused && !this.look) this.fill(this.begins);
      this.done(answer);
    } catch (failure) {
      replace(this.said, h("p", { class: "refusal" }, foreign(failure instanceof Error ? failure.message : "no answer"), " It is not known whether the call went through; the same call again cannot be done twice."));
    } finally {
      this.act.removeAttribute("aria-busy");
      if (back && !this.element.contains(document.activeElement)) this.act.focus();
    }
  }
}

// Several tools, of which one form is shown.
export class Forms {
  readonly element: HTMLElement;
  private readonly chips = h("div", { class: "chips", role: "group" });
  private readonly place = h("div", {});
  private readonly said = h("div", { class: "said-back", role: "status" });
  private readonly forms = new Map<string, { form: Form; made: string }>();
  private tools: Offered[] = [];
  private shown = "";
  private moment = "";

  constructor(label: string, private readonly look: boolean, private readonly call: Call, private readonly choices: Choices, private readonly done: (answer: Answer) => void) {
    this.chips.setAttribute("aria-label", label);
    this.element = h("div", {}, this.chips, this.place, this.said);
  }

  // `wanted` is shown when a new moment of the game begins; `fill` says what a form begins with.
  update(known: Known, tools: Offered[], wanted: string | undefined, fill: (tool: string) => Json, unit = "round"): void {
    const { turn } = known.state, moment = `${turn.round} ${turn.phase} ${turn.awaited}`;
    const names = tools.map((tool) => tool.name);
    if (names.join() !== this.tools.map((tool) => tool.name).join()) this.forms.clear();
    this.tools = tools;
    const busy = [...this.forms.values()].some(({ form }) => !form.untouched);
    if (!names.includes(this.shown) || (moment !== this.moment && !busy)) this.shown = wanted && names.includes(wanted) ? wanted : (names[0] ?? "");
    this.moment = moment;
    for (const tool of tools) {
      // What a form begins with changes with the market; what somebody has typed stays.
      const begins = fill(tool.name), made = JSON.stringify([tool, begins, this.known(tool)]), old = this.forms.get(tool.name);
      if (!old || (old.made !== made && old.form.untouched)) {
        const form = new Form(tool, unit, this.call, this.choices, this.look, this.said, this.done);
        form.begin(begins);
        this.forms.set(tool.name, { form, made });
      }
      this.forms.get(tool.name)?.form.enable(known.state);
    }
    this.draw();
  }

  open(tool: string, values: Json): void {
    if (!this.forms.has(tool)) return;
    this.shown = tool;
    this.forms.get(tool)?.form.fill(values);
    this.draw();
    this.forms.get(tool)?.form.element.scrollIntoView({ block: "nearest" });
    this.forms.get(tool)?.form.focus();
  }

  private known(tool: Offered): string[] {
    return Object.keys(field(tool.inputSchema, "properties") ?? {}).map((name) => this.choices(name).map((choice) => choice.value).join("\n"));
  }

  private draw(): void {
    const inside = this.chips.contains(document.activeElement);
    replace(this.chips, this.tools.length < 2 ? null : this.tools.map((tool) => button(foreign(tool.title), () => {
      this.shown = tool.name;
      this.draw();
    }, { class: "chip", "aria-pressed": String(tool.name === this.shown) })));
    if (inside) this.chips.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
    const form = this.forms.get(this.shown)?.form, held = this.place.querySelector(":focus-visible") !== null;
    if (this.place.firstChild === (form?.element ?? null)) return;
    replace(this.place, form?.element);
    // Whoever plays by keyboard goes on in the form that took the place of theirs.
    if (held) form?.focus();
  }
}

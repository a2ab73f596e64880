// Titles that explain themselves: a button with a tooltip, and a list of all of them at the foot, for print.

import type { FigureText } from "./data";
import { button, freshId, h } from "./dom";
import { words } from "./format";

type Figures = Record<string, FigureText>;

// What the page itself counts or names, in tables whose columns are no fields of an outcome.
const OWN: Record<string, string> = {
  seat: "The place at the market that the row is about, with its role.",
  "played by": "The label of whoever played the seat: a model, a person, or a scripted policy.",
  calls: "Tool calls of the seat that the market answered or refused, those made inside execute_code included.",
  refused: "Calls that the market refused; a refusal changes nothing.",
  lapses: "Turns that passed without a valid action, so that the market took the default one.",
  "model calls": "Requests to a model that were answered.",
  "tokens in": "Tokens of all requests, as the provider states them; ~ where some were estimated.",
  "tokens out": "Tokens of all replies, as the provider states them; ~ where some were estimated.",
  "model time": "Time until the replies of the model came, added up; it is no part of the chain.",
  cost: "Tokens times the price of the model, in US dollars; a dash where the price is not known.",
  tool: "The tool by its name in the market.",
  shows: "The kinds of evidence that an answer of the tool holds.",
  answered: "Calls that the market answered.",
  rounds: "Rounds with an answered call, of all rounds that were played.",
  first: "The first round with an answered call.",
  last: "The last round with an answered call.",
  action: "The kind of action that the seat took.",
  done: "How often the action was executed.",
  figure: "A number about conduct, by its title.",
  value: "The number itself; a dash where it cannot be computed.",
  of: "What was counted, out of how many.",
  what: "The formula in words, and what limits the number.",
  event: "The number of the event in the trace, from 1.",
  round: "The round of the market, from 1.",
  kind: "Whether the call reads, analyses, acts or notes.",
  call: "The tool and its first argument.",
  outcome: "What the market made of the call: ok, or how it was refused.",
  took: "Time from the call to its answer; it is no part of the chain.",
  scenario: "The preset that was played, with its parameters.",
  rules: "The version of the rules that played; other versions compare with nothing.",
  evaluator: "The version of the formulas behind the figures.",
  ended: "Why the episode ended: by the rules, or cut short.",
  "failure mode": "A way to go wrong that was looked for; its explanation says what is counted.",
  A: "The first of the two traces.",
  B: "The second of the two traces.",
};

const list = h("dl", { class: "terms" });
const listed = new Map<string, string>();
const tip = h("div", { class: "tooltip", role: "tooltip", hidden: true });
let shownAt: HTMLElement | null = null;

function show(at: HTMLElement, text: string): void {
  if (!tip.isConnected) document.body.append(tip);
  tip.textContent = text;
  tip.hidden = false;
  shownAt = at;
  const box = at.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8));
  const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom + 6 : Math.max(8, box.top - tip.offsetHeight - 6)}px`;
}

function hide(): void {
  tip.hidden = true;
  shownAt = null;
}

addEventListener("scroll", hide, { capture: true, passive: true });
addEventListener("keydown", (event) => event.key === "Escape" && hide());

// The list at the foot, built as titles appear.
export function glossary(): HTMLElement {
  return h("details", { class: "glossary", id: "glossary" }, h("summary", {}, "What the titles mean"), list);
}

// A title with its text. Equal titles share one line of the list, which is also what a screen reader is given.
export function term(title: string, text: string): HTMLButtonElement {
  const key = `${title}\n${text}`;
  let id = listed.get(key);
  if (id === undefined) {
    id = freshId("term");
    listed.set(key, id);
    list.append(h("div", {}, h("dt", {}, title), h("dd", { id }, text)));
  }
  const made: HTMLButtonElement = button(title, () => show(made, text), { class: "term", "aria-describedby": id, "data-tip": text });
  made.addEventListener("pointerenter", () => show(made, text));
  made.addEventListener("focus", () => show(made, text));
  made.addEventListener("pointerleave", hide);
  made.addEventListener("blur", () => shownAt === made && hide());
  return made;
}

// A formula may name other fields: their titles stand in for them.
function plain(text: string, figures: Figures): string {
  return text.replace(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => figures[name]?.title.toLowerCase() ?? words(name));
}

function described(figure: FigureText, figures: Figures): string {
  const better = figure.better === "none" ? "" : ` ${figure.better === "higher" ? "Higher" : "Lower"} is better.`;
  const null_ = figure.null.startsWith("never") ? "" : ` A dash: ${plain(figure.null, figures)}.`;
  return `${plain(figure.formula, figures)}. Unit: ${figure.unit}.${better}${null_}`;
}

// The title of a field or of a column of the page. What nobody explains stays plain text.
export function title(name: string, figures: Figures = {}): HTMLElement | string {
  const figure = figures[name] ?? Object.values(figures).find((known) => known.title === name);
  if (figure) return term(figure.title, described(figure, figures));
  const own = OWN[name];
  return own ? term(name.charAt(0).toUpperCase() + name.slice(1), own) : words(name);
}

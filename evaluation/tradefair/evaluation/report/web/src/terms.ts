// Titles that explain themselves: a button with a tooltip, and a list of all of them at the foot, for print.

import type { FigureText } from "./data";
import { button, freshId, h, visible } from "./dom";
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
  "tool name": "The tool by its name in the source, without the prefix of its server.",
  "times called": "Calls of the tool, whatever became of them.",
  refusals: "Calls that were answered by an error.",
  "no answer": "Calls to which the source holds no answer, or that failed on the way.",
  "median time": "Half of the calls were answered within this time; a dash where the source has no times.",
  "95 % within": "Of 100 calls 95 were answered within this time.",
  does: "What the tool does: read, analysis, action, note.",
  "known by": "Where that is known from: a map, the tool's annotation, the source, or the verb its name begins with.",
  agent: "The agent, sub-agent or user that calls tools.",
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
  "turn lost": "What the turn of this first call lost against the best known policies, negative where it gained; all of them add up.",
  scenario: "The preset that was played, with its parameters.",
  rules: "The version of the rules that played; other versions compare with nothing.",
  evaluator: "The version of the formulas behind the figures.",
  ended: "Why the episode ended: by the rules, or cut short.",
  "failure mode": "A way to go wrong that was looked for; its explanation says what is counted.",
  A: "The first of the two.",
  B: "The second of the two.",
  pairs: "How many pairs have the number on both sides: the same seed, seat and opponents, played by A and by B.",
  "p-value": "How often pairs without any difference between A and B would give so large a mean, by flipping their signs.",
  "p-value (Holm)": "The p-value after Holm's correction over the metrics with a star: several tests make a lucky one likely.",
  "95 % from": "The lower end of the interval that holds the true mean difference in 95 of 100 such comparisons.",
  "95 % to": "The upper end of the interval that holds the true mean difference in 95 of 100 such comparisons.",
};

const listed = new Map<string, string>();
let shownAt: HTMLElement | null = null;
let parts: { list: HTMLElement; tip: HTMLElement } | null = null;

// Made when it is first needed: where pictures are drawn without a browser there is no page to show it on.
function made(): { list: HTMLElement; tip: HTMLElement } {
  if (parts) return parts;
  parts = { list: h("dl", { class: "terms" }), tip: h("div", { class: "tooltip", role: "tooltip", hidden: true }) };
  addEventListener("scroll", hide, { capture: true, passive: true });
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  return parts;
}

function show(at: HTMLElement, text: string): void {
  const { tip } = made();
  if (!tip.isConnected) document.body.append(tip);
  tip.textContent = visible(text);
  tip.hidden = false;
  shownAt = at;
  const box = at.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8));
  const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom + 6 : Math.max(8, box.top - tip.offsetHeight - 6)}px`;
}

function hide(): void {
  made().tip.hidden = true;
  shownAt = null;
}

// The list at the foot, built as titles appear.
export function glossary(): HTMLElement {
  return h("details", { class: "glossary", id: "glossary" }, h("summary", {}, "What the titles mean"), made().list);
}

// A title with its text. Equal titles share one line of the list, which is also what a screen reader is given. What is
// not listed stands beside its text already.
export function term(title: string, text: string, inList = true): HTMLButtonElement {
  const key = `${title}\n${text}`;
  let id = listed.get(key);
  if (id === undefined && inList) {
    id = freshId("term");
    listed.set(key, id);
    made().list.append(h("div", {}, h("dt", {}, title), h("dd", { id }, text)));
  }
  const held: HTMLButtonElement = button(title, () => show(held, text), { class: "term", "aria-describedby": id, "data-tip": visible(text) });
  held.addEventListener("pointerenter", () => show(held, text));
  held.addEventListener("focus", () => show(held, text));
  held.addEventListener("pointerleave", hide);
  held.addEventListener("blur", () => shownAt === held && hide());
  return held;
}

// A formula may name other fields: their titles stand in for them.
function plain(text: string, figures: Figures): string {
  return text.replace(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => figures[name]?.title ?? words(name));
}

function described(figure: FigureText, figures: Figures): string {
  const better = figure.better === "none" ? "" : ` ${figure.better === "higher" ? "Higher" : "Lower"} is better.`;
  const absent = figure.null.startsWith("never") ? "" : ` A dash: ${plain(figure.null, figures)}.`;
  const name = figure.short ? `${figure.title}: ` : "", source = figure.source ? ` Source: ${figure.source}.` : "";
  return `${name}${plain(figure.formula, figures)}. Unit: ${figure.unit}.${better}${absent}${figure.caution ? ` Mind: ${figure.caution}.` : ""}${source}`;
}

function begun(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The title of a field, by its name or its heading, or of a column of the page. `among` is the table that has it, which
// is all that is known of a column that an evaluator made up.
export function title(name: string, figures: Figures = {}, among = ""): HTMLElement | string {
  const figure = figures[name] ?? Object.values(figures).find((known) => known.title === name || known.short === name);
  if (figure) return term(begun(figure.short || figure.title), described(figure, figures));
  const own = OWN[name];
  if (own) return term(begun(name), own);
  return among ? term(begun(words(name)), `${begun(words(name))}, in the table “${among}”.`, false) : words(name);
}

// What went wrong: a card per finding, each of its decisions one link.

import type { Case, Episode, Finding, Opened, Raised } from "./data";
import { button, type Child, foreign, h } from "./dom";
import { isMark } from "./filter";
import { number, percent, plural, words } from "./format";
import { dearest, type OpenEvent } from "./lead";
import { modeName, seatsText, section, unfolded } from "./parts";
import { term } from "./terms";

export type Show = (raised: Raised) => void;

// Cards that stand open: on a phone the references must fit under them on the first screen.
const NARROW = matchMedia("(max-width: 860px)");
const MAX_CARDS = NARROW.matches ? 2 : 3, MAX_CHIPS = NARROW.matches ? 3 : 6;

// One entry per decision: a call that several cases cite is one decision.
export function decisions(finding: Finding): Case[] {
  const found = new Map<number, Case>();
  for (const seen of finding.cases) if (!found.has(seen.seq)) found.set(seen.seq, seen);
  return [...found.values()];
}

// What the turns of its cases lost by the seat's ledger; empty where there is none.
export function lostText(page: Episode, { lost, seats }: Finding): string {
  const { unit = "", per_unit: per = 1 } = page.ledgers?.find(({ seat }) => seats.includes(seat)) ?? {};
  return lost === null ? "" : `${number(lost / per)}${unit ? ` ${unit}` : ""} lost`;
}

function chip(opened: Opened, found: Case, open: OpenEvent): HTMLElement {
  const row = opened.rowOf.get(found.seq);
  const made: HTMLButtonElement = button([h("span", { class: "num seq" }, `#${found.seq}`)],
    () => row !== undefined && open(opened, row, made), { class: "chip case", "data-seq": found.seq, disabled: row === undefined });
  return made;
}

export function modeTerm(finding: Finding): HTMLElement {
  return term(modeName(finding.id), `Counted: ${finding.counts}. Raised by ${finding.threshold}. Its id: ${finding.id}.`);
}

function reasons(opened: Opened, raised: Raised, cases: Case[], open: OpenEvent): Child {
  const { finding, told } = raised, parts = Object.entries(finding.parts).filter(([, value]) => value !== null);
  return [
    h("p", {}, foreign(finding.says)),
    told.map((text) => h("p", { class: "aside" }, foreign(text))),
    parts.length ? h("p", { class: "aside" }, parts.map(([name, value]) => `${words(name)} ${number(value)}`).join(" · ")) : null,
    finding.note ? h("p", { class: "aside" }, foreign(finding.note)) : null,
    h("ol", { class: "cases" }, cases.map((found) => h("li", {}, chip(opened, found, open), " ", foreign([found.because, ...found.also].join("; "))))),
  ];
}

// How often of how many; where money or goods are counted and not the cases themselves, their share.
function counted({ count, of, amount, share }: Finding): string {
  if (of > 0 && amount === count) return `${number(count)} of ${number(of)}`;
  return share === null ? number(count) : `${plural(count, "case")}, ${share > 0 && share < 0.005 ? "below 1 %" : percent(share)}`;
}

// A finding: its name, how often, what its turns lost; the reason of its first decision; a chip per decision.
function card(opened: Opened, raised: Raised, open: OpenEvent, show: Show, named: boolean): HTMLElement {
  const { finding, events } = raised, cases = decisions(finding), [first] = cases;
  const more = finding.count - Math.min(cases.length, MAX_CHIPS);
  // A phone has no timeline: there the finding filters the list of calls.
  const [rest, where] = NARROW.matches ? [" more", "in the list"] : [" more,", "shown on the timeline"];
  const marked = events.some((seq) => isMark(opened, opened.rowOf.get(seq)));
  const rate = finding.base_rate ? `${number(finding.base_rate.raised)} of ${number(finding.base_rate.of)} competent seats do it too` : "";
  return h("li", { class: "finding", "data-finding": finding.id, "data-seat": finding.seats.join(" ") },
    h("div", { class: "head" }, h("h3", {}, modeTerm(finding), named ? [" ", seatsText(finding.seats)] : null), h("span", { class: "num" }, counted(finding)), h("span", { class: "num price" }, lostText(opened.page, finding))),
    first ? h("p", { class: "because" }, foreign(first.because)) : h("p", { class: "because" }, foreign(finding.says)),
    h("p", { class: "chips" }, cases.slice(0, MAX_CHIPS).map((found) => [chip(opened, found, open), " "]),
      marked ? button(`${more > 0 ? `${number(more)}${rest} ` : ""}${where}`, () => show(raised), { class: "link" }) : more > 0 ? h("span", { class: "quiet" }, `${number(more)} more`) : null),
    h("div", { class: "foot" }, unfolded("reasons", () => reasons(opened, raised, cases, open), { class: "reasons" }), rate ? h("span", { class: "quiet" }, rate) : null));
}

export function cards(opened: Opened, raised: Raised[], open: OpenEvent, show: Show, named: boolean): Child {
  const list = (some: Raised[]): HTMLElement => h("ol", { class: "findings" }, some.map((found) => card(opened, found, open, show, named)));
  const rest = raised.slice(MAX_CARDS);
  return [list(raised.slice(0, MAX_CARDS)), rest.length ? unfolded(`${plural(rest.length, "more finding")}`, () => list(rest)) : null];
}

// A mode is looked for in each seat: found in one, it can be clear in another, so seats are named where they differ.
function others(opened: Opened, several: boolean): Child {
  const { diagnosis, asides } = opened.page;
  const all = diagnosis?.findings.filter((finding) => opened.mine(finding.seats)) ?? [];
  const rest = all.filter((finding) => finding.status !== "raised" && finding.status !== "condition");
  const clear = rest.filter((finding) => finding.status === "clear"), limited = rest.filter((finding) => finding.status !== "clear" && finding.note);
  const often = (id: string): boolean => all.filter((finding) => finding.id === id).length > 1;
  const ofSeats = (finding: Finding): Child => (often(finding.id) && finding.seats.length ? [" of ", seatsText(finding.seats)] : null);
  const count = (some: Finding[]): number => new Set(some.map((finding) => finding.id)).size;
  if (rest.length + asides.length === 0) return null;
  return unfolded(`${plural(count(clear), "mode")} checked, not found`, () => [
    h("ul", { class: "clear" }, clear.map((finding) => h("li", {}, modeTerm(finding), ofSeats(finding)))),
    limited.length ? [h("h3", {}, "Not checked, or part of another finding"), h("ul", { class: "limits" }, limited.map((finding) => h("li", {}, modeTerm(finding), ofSeats(finding), " ", foreign(finding.note ?? ""))))] : null,
    several ? h("p", { class: "aside" }, "Two findings may share turns: what these lost is then counted in both.") : null,
    asides.map((text) => h("p", { class: "aside" }, foreign(text))),
  ], { class: "block others" });
}

export function findings(opened: Opened, open: OpenEvent, show: Show): HTMLElement {
  const { diagnosis, raised, verdict } = opened.page;
  if (!diagnosis) return section("findings", "What went wrong", h("p", { class: "empty" }, "This market has no diagnostics."));
  // The finding of the verdict's mistake first: of several seats another one may have the first rank.
  const mistake = dearest(verdict), told = ({ finding }: Raised): number => Number(finding.id === mistake?.mode && finding.seats.includes(mistake.seat));
  const own = raised.filter(({ finding }) => opened.mine(finding.seats)).sort((a, b) => told(b) - told(a));
  return section("findings", ["What went wrong ", h("span", { class: "quiet num" }, `(${own.length})`)],
    own.length ? cards(opened, own, open, show, verdict.seats.length !== 1) : h("p", { class: "empty" }, "Nothing was found."),
    others(opened, own.length > 1));
}

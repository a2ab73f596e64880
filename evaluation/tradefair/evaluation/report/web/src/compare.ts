// Two episodes side by side: what differs, the first decision that does, pictures on common scales, both timelines.

import { barDomain, figure, valueDomain } from "./charts";
import type { Chart, Decision, Divergence, Episode, Opened, Pair } from "./data";
import { button, type Child, foreign, h } from "./dom";
import { timelineParts } from "./episode";
import { modeTerm } from "./findings";
import { endWords, number, plural, words } from "./format";
import { badge, lead, type OpenEvent } from "./lead";
import { section, table } from "./parts";
import { chain } from "./run";

const SIDES = ["A", "B"] as const;

export function compareView(sides: [Opened, Opened], pair: Pair, open: OpenEvent): HTMLElement {
  const pages = sides.map((side) => side.page) as [Episode, Episode];
  return h("div", { class: "compare" },
    h("div", { class: "two leads" }, sides.map((side, place) => h("div", { class: "side" },
      h("p", {}, h("span", { class: "letter" }, SIDES[place]), " ", labels(side.page)), lead(side, open, side.page.foreign ? chain(side.page.verification) : badge(side.page.verification))))),
    section("summary", "Side by side", differences(pages, pair)),
    section("divergence", "First diverging decision", divergence(sides, pair, open)),
    section("pictures", "Pictures", h("p", { class: "lead" }, "The same pictures of A and B, on the same scales."), pictures(pages)),
    section("timeline", "Timelines", timelines(sides, pair.divergence, open)),
    section("findings", "Findings", findings(pages)));
}

function labels(page: Episode): Child {
  // The seats under test, as the verdict below it; of a trace that names none, who was asked a model.
  const tested = new Set(page.verdict.seats.map((seat) => seat.seat));
  const agents = page.seats.filter((seat) => (tested.size ? tested.has(seat.id) : (seat.account.model_calls ?? 0) > 0));
  const shown = agents.length ? agents : page.seats.slice(0, 1);
  return shown.map((seat, place) => [place ? ", " : "", foreign(seat.label ?? seat.id)]);
}

function differences(pages: [Episode, Episode], pair: Pair): HTMLElement {
  const [a, b] = pages, called = (name: string): string => a.figures[name]?.title ?? words(name);
  const rows: [string, string, string][] = pair.attributes.map((one) => [words(one.name), one.a.join(", "), one.b.join(", ")]);
  rows.push(["ended", endWords(a.end_reason), endWords(b.end_reason)], ["rounds closed", number(a.rounds_closed), number(b.rounds_closed)]);
  for (const seat of a.seats) {
    const other = b.seats.find((one) => one.id === seat.id);
    if (!other) continue;
    for (const name of a.seat_columns.filter((one) => one in seat.outcome)) rows.push([`${seat.id} ${called(name)}`, number(seat.outcome[name]), number(other.outcome[name])]);
    for (const name of ["calls", "refused", "input_tokens", "output_tokens"] as const)
      if (number(seat.account[name]) !== "–" || number(other.account[name]) !== "–") rows.push([`${seat.id} ${words(name)}`, number(seat.account[name]), number(other.account[name])]);
  }
  const known = new Map(b.results);
  for (const [name, value] of a.results) rows.push([called(name), number(value), number(known.get(name))]);
  const differing = rows.filter(([, left, right]) => left !== right), same = rows.filter(([, left, right]) => left === right);
  const cells = (some: [string, string, string][]): Child[][] => some.map(([name, left, right]) => [foreign(name), h("span", { class: "num" }, left), h("span", { class: "num" }, right)]);
  return h("div", {}, h("h3", {}, `Different (${differing.length})`),
    differing.length ? table(["", "A", "B"], cells(differing), "What differs", 0) : h("p", { class: "empty" }, "Nothing: the two are alike in all of it."),
    same.length ? h("details", { class: "block" }, h("summary", {}, `The same (${same.length})`), table(["", "A", "B"], cells(same), "What is the same", 0)) : null);
}

function divergence(sides: [Opened, Opened], pair: Pair, open: OpenEvent): Child {
  const found = pair.divergence;
  if (!found) return h("p", { class: "empty" }, pair.note || "No decision differs.");
  const side = (opened: Opened, letter: string, one: Decision | null): HTMLElement => {
    const row = one ? opened.rowOf.get(one.seq) : undefined;
    const link: HTMLElement | null = one && row !== undefined ? button(`Open event #${one.seq}`, () => open(opened, row, link ?? document.body), { class: "link", "data-seq": one.seq }) : null;
    return h("div", { class: "side" }, h("h3", {}, h("span", { class: "letter" }, letter), " ", one ? foreign(one.tool ?? "lapsed") : "no decision"),
      one ? [h("p", {}, one.status, one.error ? ` · ${one.error}` : ""), h("pre", { class: "json" }, JSON.stringify(one.arguments, null, 2)), link] : h("p", { class: "aside" }, "Decided nothing more in this phase."));
  };
  return [h("p", { class: "lead" }, `Round ${found.round}, phase ${found.phase}, seat `, foreign(found.seat), ": ", foreign(found.what), "."),
    h("div", { class: "two" }, side(sides[0], "A", found.a), side(sides[1], "B", found.b))];
}

function pictures([a, b]: [Episode, Episode]): Child {
  const both = a.charts.filter((chart) => b.charts.some((other) => other.id === chart.id));
  if (both.length === 0) return h("p", { class: "empty" }, "The two have no picture in common.");
  return both.map((chart) => {
    const other = b.charts.find((one) => one.id === chart.id) as Chart;
    const domains = [chart, other].flatMap((one) => (one.shape === "xy" ? [valueDomain(one)] : one.shape === "bars" ? [barDomain(one)] : []));
    const common: [number, number] | null = domains.length ? [Math.min(...domains.map((one) => one[0])), Math.max(...domains.map((one) => one[1]))] : null;
    return h("div", { class: "two" }, figure(chart, common, "A"), figure(other, common, "B"));
  });
}

function timelines(sides: [Opened, Opened], found: Divergence | null, open: OpenEvent): Child {
  return sides.map((opened, place) => {
    const parts = timelineParts(opened, open);
    const decision = place === 0 ? found?.a : found?.b;
    const row = decision ? opened.rowOf.get(decision.seq) : undefined;
    if (row !== undefined) parts.timeline.ring([row]);
    return h("div", { class: "side", "data-side": SIDES[place] }, h("h3", {}, h("span", { class: "letter" }, SIDES[place]), " ", labels(opened.page)), parts.filter.element, parts.filter.state, parts.timeline.element,
      h("details", { class: "block" }, h("summary", {}, "Calls as a list"), parts.calls.element));
  });
}

function findings(pages: [Episode, Episode]): Child {
  const ids = [...new Set(pages.flatMap((page) => page.raised.map((raised) => raised.finding.id)))];
  if (ids.length === 0) return h("p", { class: "empty" }, "Nothing was found in either.");
  const named = (id: string): Child => {
    const known = pages.flatMap((page) => page.raised).find((raised) => raised.finding.id === id);
    return known ? modeTerm(known.finding) : null;
  };
  const cell = (page: Episode, id: string): Child => {
    const same = page.raised.filter((raised) => raised.finding.id === id), [first] = same;
    if (!first) return h("span", { class: "quiet" }, page.diagnosis ? "not found" : "–");
    return [foreign(first.finding.says), first.told[0] ? h("span", { class: "quiet" }, ` ${first.told[0]}`) : null, same.length > 1 ? ` and in ${plural(same.length - 1, "other seat")}` : null];
  };
  return table(["failure mode", "A", "B"], ids.map((id) => [named(id), cell(pages[0], id), cell(pages[1], id)]), "Findings", 3);
}

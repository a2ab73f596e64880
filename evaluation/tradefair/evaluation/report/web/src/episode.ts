// One episode: verdict, what went wrong, references, what the seat did; market, opponents, evidence and trace folded.

import { beside } from "./beside";
import { CallList } from "./calls";
import { figure } from "./charts";
import type { Chart, Episode, Opened, Verification } from "./data";
import { button, type Child, foreign, h, replace } from "./dom";
import { evidence } from "./evidence";
import { Filter } from "./filter";
import { findings, type Show } from "./findings";
import { bytes, endWords, number, plural, seconds, words } from "./format";
import { parseRaw, textView } from "./json";
import { badge, lead, type OpenEvent } from "./lead";
import { folded, pairs, section, subject, table, unfolded } from "./parts";
import { ledgers } from "./ledgers";
import { figuresOf, opponents, seatTables } from "./seats";
import { term, title } from "./terms";
import { Timeline } from "./timeline";

const MAX_OWN = 2;

// A page of one trace. `select` brings an event into view, `grown` shows events that have come, `newest` the last of
// them unless the reader has `touched` the list; `badge` draws a check, `ended` says that nothing more will come.
export interface View {
  element: HTMLElement; lead: HTMLElement; touched: HTMLElement; ended: string;
  select: (row: number) => void; grown: () => void; newest: () => void; refresh: (page: Episode) => void;
  badge: (check: Verification | null, events?: number) => HTMLElement;
}

export function timelineParts(opened: Opened, open: OpenEvent): { filter: Filter; timeline: Timeline; calls: CallList } {
  const filter = new Filter(opened);
  const choose = (row: number, opener: HTMLElement): void => open(opened, row, opener);
  return { filter, timeline: new Timeline(opened, filter, choose), calls: new CallList(opened, filter, choose) };
}

// The seat's part of a chart with a panel per seat, as one full-width picture; another chart as it is.
function ownPart(chart: Chart, seat: string): Chart {
  if (chart.shape !== "xy") return chart;
  const lines = chart.lines.filter((line) => line.panel === seat || line.panel?.startsWith(`${seat} `));
  const [first] = lines;
  return first?.panel ? { ...chart, title: `${chart.title}: ${first.panel}`, lines: lines.map((line) => ({ ...line, panel: null })) } : chart;
}

// The charts of an evaluator are the most telling first: that one is what the seat did, the others are the market.
function ownPictures(page: Episode): Child {
  const [chart] = page.charts, seats = page.verdict.seats.slice(0, MAX_OWN).map((seat) => seat.seat);
  if (!chart) return h("p", { class: "empty" }, "No round has closed, or the market brings no pictures.");
  const shown = seats.length ? seats.map((seat) => ownPart(chart, seat)) : [chart];
  return h("div", { class: "charts wide" }, shown.filter((some, place) => place === 0 || some !== chart).map((some) => figure(some)));
}

function did(opened: Opened): Child {
  const { page } = opened, own = page.seats.filter((seat) => opened.own.has(seat.id)), [first] = own;
  return [own.length > 1 ? seatTables(opened, own) : first ? figuresOf(page, first) : null, ownPictures(page)];
}

function market(page: Episode): HTMLElement {
  const results = page.results.filter(([, value]) => value !== null);
  return folded("market", "The market",
    page.description ? h("p", { class: "about" }, foreign(page.description)) : null,
    pairs([
      [title("scenario"), foreign(page.scenario)], [title("rounds"), number(page.rounds_closed)], [title("ended"), endWords(page.end_reason)],
      ...results.map(([name, value]): [Child, Child] => [title(name, page.figures), h("span", { class: "num" }, number(value))]),
    ]),
    page.charts.length > 1 ? h("div", { class: "charts" }, page.charts.slice(1).map((chart) => figure(chart))) : null,
    page.tables.map((shown) => [h("h3", {}, shown.title), table(shown.columns, shown.rows, shown.title, 1, page.figures)]));
}

// `openTurn` opens what was asked and answered in the turn of an event, `open` an event.
export function episodeView(opened: Opened, open: OpenEvent, openTurn: OpenEvent): View {
  const parts = timelineParts(opened, open);
  const show: Show = (raised) => {
    parts.filter.show(raised);
    const place = document.getElementById("timeline");
    place?.focus({ preventScroll: true });
    place?.scrollIntoView();
  };
  const top = h("div", {}), lost = h("div", {}), two = h("div", { class: "two first" }), path = h("div", {}), folds = h("div", {});
  const draw = (page: Episode): void => {
    opened.renew(page);
    // A check that the page was given, or asked for, stays while only the numbers are renewed.
    const check = top.querySelector<HTMLElement>(".badge") ?? badge(page.verification, opened.events.seq.length);
    replace(top, lead(opened, open, check));
    parts.calls.priced();
    replace(lost, ledgers(opened, openTurn));
    replace(two, findings(opened, open, show), beside(page));
    replace(path, did(opened));
    const unfold = new Set([...folds.querySelectorAll<HTMLDetailsElement>("details.part[open]")].map((part) => part.id));
    replace(folds, market(page), opponents(opened, open, show), evidence(opened), trace(opened, open));
    for (const part of folds.querySelectorAll<HTMLDetailsElement>("details.part")) part.open = unfold.has(part.id);
  };
  draw(opened.page);
  const timeline = h("div", { id: "timeline", tabindex: -1 }, parts.timeline.element, h("details", { class: "block filters" }, h("summary", {}, "filter calls"), parts.filter.element), parts.filter.state, parts.calls.element);
  const element = h("div", { class: "episode" }, lost, two, section("did", ["What ", subject(opened.page), " did"], path, timeline), folds);
  return {
    element, lead: top, touched: parts.calls.element, ended: "the episode has ended", refresh: draw, badge,
    select: (row) => {
      parts.timeline.select(row);
      parts.calls.select(row);
    },
    grown: () => {
      parts.filter.refresh();
      parts.timeline.rebuild();
    },
    newest: () => {
      const row = parts.filter.shown.at(-1);
      if (row !== undefined) parts.calls.select(row);
    },
  };
}

function closures(opened: Opened, open: OpenEvent): Child {
  const rows = opened.events.seq.flatMap((_, row) => (["round_closed", "phase_closed", "episode_ended", "input"].includes(opened.word("event", row)) ? [row] : []));
  if (rows.length === 0) return null;
  const link = (row: number): HTMLElement => {
    const made: HTMLElement = button(`${words(opened.word("event", row))} ${opened.events.round[row]}`, () => open(opened, row, made), { class: "link", "data-seq": opened.events.seq[row] });
    return made;
  };
  return unfolded(`Closures and inputs: ${number(rows.length)} events`, () => h("p", { class: "links wide" }, rows.slice(0, 2_000).map((row) => [link(row), " "])), { class: "block screen" });
}

function problems(page: Episode): Child {
  if (page.problems.length === 0) return null;
  return h("div", { class: "warning" }, h("p", {}, h("b", {}, plural(page.problems.length, "problem"), " with this trace")),
    h("ul", {}, page.problems.slice(0, 100).map((found) => h("li", {}, found.seq === null ? "" : `event ${found.seq}: `, foreign(found.message)))));
}

function trace(opened: Opened, open: OpenEvent): HTMLElement {
  const { page } = opened, { verification: check } = page, cut = page.bodies.cut + page.note_bodies.cut;
  const digests: [string, string | null | undefined, string][] = [
    ["Head", check?.head_hash, "The hash of the chain after the last good event: it covers world, players and calls."],
    ["Seal", check?.seal, "It covers the head, times, costs and model records."], ["Signed by", check?.signed_by, "The fingerprint of the key that signed the seal."],
  ];
  const versions = Object.entries({ rules: page.rules_version, ...page.verdict.versions });
  return folded("trace", "Trace and versions", problems(page),
    h("p", {}, h("span", { class: "path" }, foreign(page.name)), h("span", { class: "quiet" }, ` · ${bytes(page.bytes)} · ${plural(opened.events.seq.length, "event")} · ${plural(opened.notes.seat.length, "note")} about agents`)),
    h("p", {}, check ? check.sentence : "This page was made without checking the trace.", check && !check.sealed ? " The trace is not sealed." : null),
    pairs([
      ...versions.map(([name, version]): [Child, Child] => [title(name), version]), ...(page.wall_seconds === null ? [] : [[title("took"), seconds(page.wall_seconds)] as [Child, Child]]),
      ...digests.flatMap(([name, text, what]): [Child, Child][] => (text ? [[term(name, what), h("span", { class: "path" }, text.slice(0, 18))]] : [])),
    ]),
    h("p", { class: "aside" }, cut ? `${plural(cut, "text")} longer than ${number(page.bodies.limit)} characters ${cut === 1 ? "was" : "were"} cut for this page; the trace has all of them.` : "Every event is on this page in full."),
    check?.in_log ? [h("h3", {}, "First divergence on re-execution"), h("p", {}, "in the log"), textView(check.in_log, null), h("p", {}, "re-executed"), textView(check.re_executed ?? "", null)] : null,
    closures(opened, open), lazy("Manifest: what is hashed", page.manifest), lazy("About: what is said beside it", page.about));
}

function lazy(name: string, text: string): HTMLElement {
  // What is there word for word stays out of print.
  return unfolded(name, () => (parseRaw(text) ? textView(text, null) : h("pre", { class: "json" }, text)), { class: "block screen" });
}

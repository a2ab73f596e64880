// One episode: summary, pictures, timeline, findings, evidence, what is under it.

import { CallList } from "./calls";
import { figure } from "./charts";
import type { AuditRow, Case, Episode, EvidenceRow, Figure, Finding, Opened, Raised, Seat, Verification } from "./data";
import { button, type Child, foreign, h } from "./dom";
import { Filter, isMark } from "./filter";
import { aligned, bytes, dollars, endWords, isNumeric, number, percent, plural, seconds, words } from "./format";
import { parseRaw, textView } from "./json";
import { Timeline } from "./timeline";

export type OpenEvent = (opened: Opened, row: number, opener: HTMLElement) => void;

const MAX_LINKS = 12;
const MAX_SEATS = 4;
const MAX_CASES = 3;
const MAX_FINDINGS = 10;
const MAX_ROWS = 40;

export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title`, tabindex: -1 }, h("h2", { id: `${id}-title` }, title), children);
}

export function badge(check: Verification | null): HTMLElement {
  if (!check) return h("p", { class: "badge none" }, h("b", {}, "not verified"), h("span", {}, "this page was made without checking the trace"));
  const digests = [["head", check.head_hash], ["seal", check.seal], ["signed by", check.signed_by]];
  const shown = digests.flatMap(([name, text]) => (text ? [` · ${name} ${text.slice(0, 18)}`] : [])).join("");
  return h("p", { class: `badge ${check.sound ? "good" : "bad"}` },
    h("b", {}, h("span", { class: `glyph ${check.sound ? "fine" : "refused"}`, "aria-hidden": "true" }), check.verdict),
    h("span", {}, `${check.message}${check.sealed ? "" : " · not sealed"}${shown}`));
}

export function table(head: string[], rows: Child[][], label: string, names = 1): HTMLElement {
  const numeric = head.map((_, place) => place >= names && rows.every((row) => typeof row[place] !== "string" || isNumeric(row[place])));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((name, place) => h("th", { scope: "col", class: numeric[place] ? "num" : "" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, place) =>
        place === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: numeric[place] ? "num" : "" }, cell)))))));
}

// --- summary ---------------------------------------------------------------------------------------------------------

export function pairs(rows: [string, Child][]): HTMLElement {
  return h("dl", { class: "grid" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function tokens(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : number(value);
}

// Seats whose roles have the same figures stand in one table.
function seatTables(page: Episode): HTMLElement {
  const columns = (seat: Seat): string => page.seat_columns.filter((name) => name in seat.outcome).join(" ");
  const tables = [...new Set(page.seats.map(columns))].map((same) => seatTable(page.seats.filter((seat) => columns(seat) === same), same ? same.split(" ") : []));
  const sum = page.seats.some((seat) => seat.account.usage_estimated) ? h("p", { class: "aside" }, "~ tokens were estimated, not stated by a provider.") : null;
  return h("div", {}, tables, sum);
}

function seatTable(seats: Seat[], columns: string[]): HTMLElement {
  const spent = seats.some((seat) => (seat.account.model_calls ?? 0) > 0);
  const priced = seats.some((seat) => (seat.account.cost_usd_micro ?? null) !== null);
  const refused = seats.some((seat) => (seat.account.refused ?? 0) > 0 || lapses(seat) > 0);
  const head = ["seat", "played by", ...columns.map(words), "calls", ...(refused ? ["refused", "lapses"] : []),
    ...(spent ? ["model calls", "tokens in", "tokens out", "model time"] : []), ...(priced ? ["cost"] : [])];
  const outcomes = columns.map((name) => aligned(seats.map((seat) => seat.outcome[name])));
  const rows = seats.map((seat, place): Child[] => [
    [foreign(seat.id), h("span", { class: "quiet" }, ` ${seat.role}`)],
    [seat.label ? foreign(seat.label) : "–", seat.privileged ? h("span", { class: "tag" }, "privileged") : null],
    ...outcomes.map((column) => column[place] ?? ""),
    tokens(seat.account.calls), ...(refused ? [tokens(seat.account.refused), number(lapses(seat))] : []),
    ...(spent ? [tokens(seat.account.model_calls), estimated(seat, seat.account.input_tokens), estimated(seat, seat.account.output_tokens), seat.account.model_seconds ? seconds(seat.account.model_seconds) : "–"] : []),
    ...(priced ? [seat.account.cost_usd_micro === null || seat.account.cost_usd_micro === undefined ? "–" : dollars(seat.account.cost_usd_micro)] : []),
  ]);
  if (rows.length <= MAX_ROWS) return table(head, rows, "Seats", 2);
  const rest = rows.slice(MAX_ROWS / 2);
  return h("div", {}, table(head, rows.slice(0, MAX_ROWS / 2), "Seats", 2), unfolded(`${number(rest.length)} more seats`, () => table(head, rest, "More seats", 2)));
}

// Built when it is opened: most are not.
function unfolded(title: string, build: () => HTMLElement): HTMLElement {
  const details = h("details", { class: "block" }, h("summary", {}, title));
  details.addEventListener("toggle", () => details.children.length === 1 && details.append(build()));
  return details;
}

function estimated(seat: Seat, value: number | null | undefined): string {
  const shown = tokens(value);
  return seat.account.usage_estimated && shown !== "–" ? `~${shown}` : shown;
}

function lapses(seat: Seat): number {
  return Object.values(seat.account.lapses ?? {}).reduce((sum, count) => sum + count, 0);
}

function summary(page: Episode): HTMLElement {
  const about = pairs([
    ["market", [words(page.market), h("span", { class: "quiet" }, ` rules ${page.rules_version}`)]], ["scenario", foreign(page.scenario)], ["seed", h("span", { class: "num" }, page.seed === null ? "–" : String(page.seed))],
    ["rounds closed", number(page.rounds_closed)], ["ended", endWords(page.end_reason)],
    ["took", page.wall_seconds === null ? "–" : seconds(page.wall_seconds)],
  ]);
  const results = page.results.filter(([, value]) => value !== null);
  return section("summary", "Summary", about,
    page.censored ? h("p", { class: "warning" }, "Censored: the rules did not end this episode, so sums run over the closed rounds only.") : null,
    problems(page),
    h("h3", {}, "Who sat where"), seatTables(page),
    results.length ? [h("h3", {}, "The market"), pairs(results.map(([name, value]) => [words(name), h("span", { class: "num" }, number(value))]))] : null,
    page.tables.map((one) => h("details", { class: "block" }, h("summary", {}, one.title), table(one.columns.map(words), one.rows, one.title))));
}

function problems(page: Episode): Child {
  if (page.problems.length === 0) return null;
  return h("div", { class: "warning" }, h("p", {}, h("b", {}, plural(page.problems.length, "problem"), " with this trace")),
    h("ul", {}, page.problems.slice(0, 100).map((one) => h("li", {}, one.seq === null ? "" : `event ${one.seq}: `, foreign(one.message)))));
}

// --- findings --------------------------------------------------------------------------------------------------------

function eventLinks(opened: Opened, events: number[], open: OpenEvent): Child {
  if (events.length === 0) return h("span", { class: "quiet" }, "no event: it is what is absent");
  const link = (seq: number): Child => {
    const row = opened.rowOf.get(seq);
    const one = button(`#${seq}`, () => row !== undefined && open(opened, row, one), { class: "link num", "data-seq": seq, disabled: row === undefined });
    return [one, " "];
  };
  const more = events.slice(MAX_LINKS);
  return h("span", { class: "links" }, events.slice(0, MAX_LINKS).map(link),
    more.length ? h("details", { class: "more" }, h("summary", {}, `${more.length} more`), more.map(link)) : null);
}

function ratioText(figure: Figure): string {
  if (figure.numerator === null) return "";
  return figure.denominator === null ? number(figure.numerator) : `${number(figure.numerator)} of ${number(figure.denominator)}`;
}

// The name, and beside it the whole id: a market's own diagnostic and a general one can have the same name.
export function findingName(id: string): Child {
  return [words(id.replace(/^[^.]+\./, "")), " ", h("code", { class: "id" }, id.includes(".") ? id : `general ${id}`)];
}

// Of many seats the first few; the others stand in the title.
function seatsText(seats: string[]): HTMLElement {
  const more = seats.length > MAX_SEATS ? ` and ${seats.length - MAX_SEATS} more` : "";
  return h("span", more ? { title: seats.join(", ") } : {}, foreign(seats.slice(0, MAX_SEATS).join(", ")), more);
}

type Show = (one: Raised) => void;

// A finding: what went wrong in a sentence, what it cost, then the calls behind it and why each was wrong.
function card(opened: Opened, raised: Raised, open: OpenEvent, show: Show): HTMLElement {
  const { finding, told, events } = raised;
  const parts = Object.entries(finding.parts).filter(([, value]) => value !== null);
  const reason = (found: Case): HTMLElement => h("li", {}, eventLinks(opened, [found.seq], open), foreign([found.because, ...found.also].join("; ")));
  const rest = finding.cases.slice(MAX_CASES);
  return h("li", { class: "finding", "data-finding": finding.id, "data-seat": finding.seats.join(" ") },
    h("div", { class: "cost" }, told.length ? told.map((words) => h("p", {}, words)) : h("p", { class: "quiet" }, "no cost known")),
    h("div", {}, h("h3", {}, findingName(finding.id), " ", seatsText(finding.seats)), h("p", {}, foreign(finding.says)),
      h("ol", { class: "cases" }, finding.cases.slice(0, MAX_CASES).map(reason)),
      rest.length ? unfolded(`${number(rest.length)} more`, () => h("ol", { class: "cases" }, rest.map(reason))) : null,
      h("p", { class: "aside" }, `Counted: ${finding.counts}; raised by ${finding.threshold}.`, parts.length ? ` ${parts.map(([name, value]) => `${words(name)} ${number(value)}`).join(" · ")}.` : null, finding.note ? [" ", foreign(finding.note)] : null),
      events.some((seq) => isMark(opened, opened.rowOf.get(seq))) ? button("show on the timeline", () => show(raised), { class: "link" }) : null));
}

function findings(opened: Opened, open: OpenEvent, show: Show): HTMLElement {
  const { diagnosis, raised, asides } = opened.page;
  if (!diagnosis) return section("findings", "Findings", h("p", { class: "empty" }, "This market has no diagnostics."));
  const others = diagnosis.findings.filter((one) => one.status !== "raised" && one.status !== "condition");
  const clear = others.filter((one) => one.status === "clear"), limited = others.filter((one) => one.status !== "clear" && one.note);
  const short = (one: Figure) => words(one.id.replace(/^[^.]+\./, ""));
  // A mode is looked for in each seat: found in one, it can be clear in another, so seats are named where they differ.
  const found = new Set(raised.map((one) => one.finding.id)), modes = new Set(diagnosis.findings.map((one) => one.id));
  const split = (id: string): boolean => diagnosis.findings.filter((one) => one.id === id).length > 1;
  const ofSeats = (one: Finding): Child => one.seats.length > 0 && split(one.id) ? [" of ", seatsText(one.seats)] : null;
  const cards = (some: Raised[]): HTMLElement => h("ol", { class: "findings" }, some.map((one) => card(opened, one, open, show)));
  const rest = raised.slice(MAX_FINDINGS);
  return section("findings", "Findings",
    h("p", { class: "lead" }, `${found.size} of ${plural(modes.size, "failure mode")} found, the one to read first on top. Costs of two findings may be of one loss: they do not add up.`),
    raised.length ? cards(raised.slice(0, MAX_FINDINGS)) : h("p", { class: "empty" }, "Nothing was found."),
    rest.length ? unfolded(`${plural(rest.length, "more finding")}`, () => cards(rest)) : null,
    asides.map((text) => h("p", { class: "aside" }, foreign(text))),
    clear.length ? [h("h3", {}, "Checked, not found"), h("ul", { class: "clear" }, clear.map((one) => h("li", { title: `${one.counts}; raised by ${one.threshold}` }, findingName(one.id), ofSeats(one))))] : null,
    limited.length ? [h("h3", {}, "Not checked, or told by another finding"), h("ul", { class: "limits" }, limited.map((one) => h("li", {}, h("b", {}, findingName(one.id), ofSeats(one)), " ", foreign(one.note ?? ""))))] : null,
    diagnosis.stages.map((stage) => h("details", { class: "block" }, h("summary", {}, `Figures: ${stage.name}`),
      table(["figure", "value", "of", "what"], stage.figures.map((one, place) => [short(one), aligned(stage.figures.map((other) => other.value))[place] ?? "", ratioText(one) || "–",
        h("div", { class: "what" }, one.formula, one.note ? h("span", { class: "quiet" }, ` · ${one.note}`) : null)]), `Figures: ${stage.name}`))));
}

// --- evidence and information ----------------------------------------------------------------------------------------

function matrix(rows: EvidenceRow[], categories: string[], label: string): HTMLElement {
  const used = categories.filter((name) => rows.some((row) => (row.looked[name] ?? 0) > 0 || row.needed.includes(name)));
  const cell = (row: EvidenceRow, name: string): HTMLElement => {
    const share = row.count ? (row.looked[name] ?? 0) / row.count : 0, needed = row.needed.includes(name);
    const box = h("td", { class: `heat${needed ? " needed" : ""}`, "data-step": Math.ceil(share * 4), title: `${words(row.action)}: ${row.looked[name] ?? 0} of ${row.count} after a look at ${words(name)}${needed ? "; needed" : ""}` },
      share === 0 && !needed ? h("span", { class: "quiet" }, "·") : percent(share), needed ? h("span", { class: "hidden" }, " needed") : null);
    return box;
  };
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "matrix" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "action"), h("th", { scope: "col", class: "num" }, "done"), used.map((name) => h("th", { scope: "col", class: "slant" }, words(name))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, words(row.action)), h("td", { class: "num" }, number(row.count)), used.map((name) => cell(row, name)))))));
}

function auditTable(rows: AuditRow[], rounds: number, label: string): HTMLElement {
  const ordered = [...rows].sort((a, b) => b.answered - a.answered || (a.tool < b.tool ? -1 : 1));
  return table(["tool", "shows", "answered", "refused", "rounds", "first", "last"], ordered.map((row): Child[] => [
    h("span", { class: "tool" }, row.tool), row.evidence.length ? row.evidence.map(words).join(", ") : h("span", { class: "quiet" }, "–"),
    row.answered ? number(row.answered) : h("span", { class: "never" }, row.offered ? "never used" : "not offered"), row.refused ? number(row.refused) : "–",
    row.rounds ? `${number(row.rounds)} of ${number(rounds)}` : "–", number(row.first), number(row.last),
  ]), label, 2);
}

function evidence(page: Episode): HTMLElement {
  const agent = page.seats.find((seat) => (seat.account.model_calls ?? 0) > 0) ?? page.seats[0];
  const holder = h("div", {});
  const show = (seat: string): void => {
    const rows = page.evidence.filter((row) => row.seat === seat), tools = page.audit.filter((row) => row.seat === seat);
    const never = tools.filter((row) => row.offered && row.answered === 0);
    const looks = page.looks.find((chart) => chart.id === `looks_${seat}`);
    holder.replaceChildren(
      h("h3", {}, "Looks before actions"),
      rows.length ? matrix(rows, page.evidence_categories, "Looks before actions") : h("p", { class: "empty" }, "The seat took no action, or the market declares no evidence."),
      rows.length ? h("p", { class: "aside" }, "Share of executed actions with a look at the category earlier in the same round, whatever object it was about. Framed: the market says that the action needs it.") : "",
      looks ? figure(looks) : "",
      h("h3", {}, "What the seat could see, and what it looked at"),
      tools.length ? auditTable(tools, Math.max(page.rounds_closed, ...tools.map((row) => row.rounds)), "Information audit") : h("p", { class: "empty" }, "The market of this trace is not installed: its tools are not known."),
      never.length ? h("p", { class: "aside" }, `${plural(never.length, "tool")} offered and never used.`) : "");
  };
  if (agent) show(agent.id);
  const choice = h("select", { id: "evidence-seat", onchange: () => show(choice.value) }, page.seats.map((seat) => h("option", { value: seat.id, selected: seat === agent }, `${seat.id} ${seat.label ?? ""}`)));
  return section("evidence", "Evidence and information",
    page.seats.length > 1 ? h("div", { class: "field inline" }, h("label", { for: "evidence-seat" }, "Seat"), choice) : null, holder);
}

// --- the whole -------------------------------------------------------------------------------------------------------

export interface EpisodeView { element: HTMLElement; timeline: Timeline; calls: CallList; filter: Filter; refresh: (page: Episode) => void }

export function timelineParts(opened: Opened, open: OpenEvent): { filter: Filter; timeline: Timeline; calls: CallList } {
  const filter = new Filter(opened);
  const choose = (row: number, opener: HTMLElement): void => open(opened, row, opener);
  return { filter, timeline: new Timeline(opened, filter, choose), calls: new CallList(opened, filter, choose) };
}

export function episodeView(opened: Opened, open: OpenEvent): EpisodeView {
  const { page } = opened;
  const parts = timelineParts(opened, open);
  const show: Show = (one) => {
    parts.filter.show(one);
    document.getElementById("timeline")?.focus();
    document.getElementById("timeline")?.scrollIntoView();
  };
  const closures = opened.events.seq.flatMap((_, row) => (["round_closed", "phase_closed", "episode_ended", "input"].includes(opened.word("event", row)) ? [row] : []));
  const pictures = (of: Episode): Child => of.charts.length ? h("div", { class: "charts" }, of.charts.map((chart) => figure(chart))) : h("p", { class: "empty" }, "No round has closed, or the market brings no pictures.");
  const sections = (of: Episode): Child[] => [summary(of), section("pictures", "Pictures", pictures(of))];
  const upper = h("div", {}, sections(page)), lower = h("div", {}, findings(opened, open, show), evidence(page));
  const element = h("div", { class: "episode" }, upper,
    section("timeline", "Timeline", parts.filter.element, parts.timeline.element, parts.calls.element, closureList(opened, closures, open)),
    lower, trace(opened));
  const refresh = (now: Episode): void => {
    upper.replaceChildren(...(sections(now) as Node[]));
    lower.replaceChildren(evidence(now));
  };
  return { element, ...parts, refresh };
}

function closureList(opened: Opened, rows: number[], open: OpenEvent): Child {
  if (rows.length === 0) return null;
  const links = rows.slice(0, 2_000).map((row) => {
    const one = button(`${words(opened.word("event", row))} ${opened.events.round[row]}`, () => open(opened, row, one), { class: "link", "data-seq": opened.events.seq[row] });
    return one;
  });
  return unfolded(`Closures and inputs: ${number(rows.length)} events`, () => h("p", { class: "links wide" }, links.map((link) => [link, " "])));
}

function trace(opened: Opened): HTMLElement {
  const { page } = opened, cut = page.bodies.cut + page.note_bodies.cut;
  return section("trace", "Trace",
    h("p", {}, h("span", { class: "path" }, foreign(page.name)), h("span", { class: "quiet" }, ` · ${bytes(page.bytes)} · ${plural(opened.events.seq.length, "event")} · ${plural(opened.notes.seat.length, "note")} about agents`)),
    h("p", { class: "aside" }, cut ? `${plural(cut, "text")} longer than ${number(page.bodies.limit)} characters ${cut === 1 ? "was" : "were"} cut for this page; the trace has all of them.` : "Every event is on this page in full."),
    page.verification?.recorded ? h("div", {}, h("h3", {}, "First divergence on re-execution"), h("p", {}, "recorded"), textView(page.verification.recorded, null), h("p", {}, "reproduced"), textView(page.verification.reproduced ?? "", null)) : null,
    lazy("Manifest: what is hashed", page.manifest), lazy("About: what is said beside it", page.about));
}

function lazy(title: string, text: string): HTMLElement {
  return unfolded(title, () => parseRaw(text) ? textView(text, null) : h("pre", { class: "json" }, text));
}

// Who sat where: the figures of a seat under test, and all seats in tables.

import type { Episode, Opened, Seat } from "./data";
import { type Child, foreign, h } from "./dom";
import { cards, type Show } from "./findings";
import { aligned, dollars, number, plural, seconds } from "./format";
import type { OpenEvent } from "./lead";
import { folded, pairs, table, unfolded } from "./parts";
import { title } from "./terms";

const MAX_ROWS = 40;

function known(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : number(value);
}

function estimated(seat: Seat, value: number | null | undefined): string {
  const shown = known(value);
  return seat.account.usage_estimated && shown !== "–" ? `~${shown}` : shown;
}

function lapses(seat: Seat): number {
  return Object.values(seat.account.lapses ?? {}).reduce((sum, count) => sum + count, 0);
}

// What a seat took, by column of the page; columns in which no seat has anything are left out.
const TOOK: [string, (seat: Seat) => string, (seat: Seat) => boolean][] = [
  ["calls", (seat) => known(seat.account.calls), () => true],
  ["refused", (seat) => known(seat.account.refused), (seat) => (seat.account.refused ?? 0) > 0],
  ["lapses", (seat) => number(lapses(seat)), (seat) => lapses(seat) > 0],
  ["model calls", (seat) => known(seat.account.model_calls), spent],
  ["tokens in", (seat) => estimated(seat, seat.account.input_tokens), spent],
  ["tokens out", (seat) => estimated(seat, seat.account.output_tokens), spent],
  ["model time", (seat) => (seat.account.model_seconds ? seconds(seat.account.model_seconds) : "–"), spent],
  ["cost", (seat) => (seat.account.cost_usd_micro === null || seat.account.cost_usd_micro === undefined ? "–" : dollars(seat.account.cost_usd_micro)), (seat) => (seat.account.cost_usd_micro ?? null) !== null],
];

function spent(seat: Seat): boolean {
  return (seat.account.model_calls ?? 0) > 0;
}

function columns(page: Episode, seat: Seat): string[] {
  return page.seat_columns.filter((name) => name in seat.outcome);
}

// Every figure of one seat, each under its title.
export function figuresOf(page: Episode, seat: Seat): HTMLElement {
  const outcome = columns(page, seat).map((name): [Child, Child] => [title(name, page.figures), h("span", { class: "num" }, number(seat.outcome[name]))]);
  // Of what it took, only what went wrong: the verdict has the rest, and the table of seats each column.
  const took = TOOK.filter(([name, , has]) => ["refused", "lapses"].includes(name) && has(seat)).map(([name, text]): [Child, Child] => [title(name), h("span", { class: "num" }, text(seat))]);
  return pairs([...outcome, ...took]);
}

function seatTable(opened: Opened, seats: Seat[], names: string[]): Child {
  const { page } = opened, took = TOOK.filter(([, , has]) => seats.some(has));
  const outcomes = names.map((name) => aligned(seats.map((seat) => seat.outcome[name])));
  const own = seats.map((seat) => opened.own.has(seat.id));
  const rows = seats.map((seat, place): Child[] => [
    [foreign(seat.id), h("span", { class: "quiet" }, ` ${seat.role}`)],
    [seat.label ? foreign(seat.label) : "–", seat.privileged ? h("span", { class: "tag" }, "knows hidden facts") : null],
    ...outcomes.map((column) => column[place] ?? ""), ...took.map(([, text]) => text(seat)),
  ]);
  const head = ["seat", "played by", ...names, ...took.map(([name]) => name)];
  const shown = (from: number, to?: number): HTMLElement => table(head, rows.slice(from, to), "Seats", 2, page.figures, own.slice(from, to));
  if (rows.length <= MAX_ROWS) return shown(0);
  return [shown(0, MAX_ROWS / 2), unfolded(`${number(rows.length - MAX_ROWS / 2)} more seats`, () => shown(MAX_ROWS / 2))];
}

// Seats whose roles have the same figures share a table.
export function seatTables(opened: Opened, seats: Seat[]): Child {
  const kinds = [...new Set(seats.map((seat) => columns(opened.page, seat).join(" ")))];
  return kinds.map((kind) => seatTable(opened, seats.filter((seat) => columns(opened.page, seat).join(" ") === kind), kind ? kind.split(" ") : []));
}

// All seats, and what went wrong in those that are not under test.
export function opponents(opened: Opened, open: OpenEvent, show: Show): HTMLElement {
  const { page, own } = opened, others = page.seats.filter((seat) => !own.has(seat.id)).length;
  const raised = own.size ? page.raised.filter(({ finding }) => !opened.mine(finding.seats)) : [];
  const name = own.size === 0 ? "Seats" : others ? "Opponents" : "What it took";
  return folded("opponents", [name, others ? h("span", { class: "quiet num" }, ` (${number(others)})`) : null],
    seatTables(opened, page.seats),
    page.seats.some((seat) => seat.account.usage_estimated) ? h("p", { class: "aside" }, "~ tokens were estimated, not stated by a provider.") : null,
    raised.length ? [h("h3", {}, plural(raised.length, "finding"), " about opponents"), cards(opened, raised, open, show, true)] : null);
}

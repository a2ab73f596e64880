// What boards of several markets are made of: small charts, columns, closed rounds and talk.

import { amount, type Known, text } from "./board-data";
import { type Column, grid, money } from "./board-general";
import { canvas } from "./charts";
import type { Axis, BarChart, Line, XYChart } from "./data";
import { button, type Child, foreign, h } from "./dom";
import { number } from "./format";
import type { Json } from "./peer";

export interface Part { name: string; key: string; content: Child }
// Shows the form of a tool with these values in it; the person then does it, or not.
export type Open = (tool: string, values: Json) => void;

// --- charts ----------------------------------------------------------------------------------------------------------

type Points = [number, number | null][];

// Points of rows, by the number in the column `x`.
export function points(body: Json[], x: string, y: string | ((row: Json) => unknown)): Points {
  return body.map((row) => [amount(row[x]) ?? 0, amount(typeof y === "string" ? row[y] : y(row))]);
}

export function line(name: string, places: Points, mark: Line["mark"] = "line"): Line {
  return { name, x: places.map(([x]) => x), y: places.map(([, y]) => y), mark, panel: null, faint: false };
}

export function xy(title: string, x: string, y: Axis, lines: Line[], more: Partial<XYChart> = {}): Child {
  const shown = lines.filter((series) => series.y.some((value) => value !== null));
  // Two rounds are sooner read in the table, and a line at nought says nothing.
  if (new Set(shown.flatMap((series) => series.x)).size < 3 || !shown.some((series) => series.y.some(Boolean))) return null;
  const chart: XYChart = { shape: "xy", id: title, title, note: "", accent: null, x: { label: x, unit: "" }, y, lines: shown, bands: [], ...more };
  return picture(title, chart, shown.map((series) => `${series.name}: ${series.x.map((at, place) => (series.y[place] === null ? null : `${x} ${at} ${number(series.y[place])}`)).filter(Boolean).slice(-8).join(", ")}`).join("; "));
}

export function bars(title: string, axis: Axis, names: string[], values: number[]): Child {
  if (!values.some((value) => value !== 0)) return null;
  const chart: BarChart = { shape: "bars", id: title, title, note: "", accent: null, x: axis, y: { label: "", unit: "" }, names, bars: { name: axis.label, values }, marks: null };
  return picture(title, chart, names.map((name, place) => `${name} ${number(values[place])}`).join(", "));
}

function picture(title: string, chart: XYChart | BarChart, spoken: string): HTMLElement {
  return h("figure", { class: `chart ${chart.shape}` }, h("figcaption", {}, h("h3", {}, title), h("span", { class: "hidden" }, spoken.slice(0, 2_000))), canvas(chart));
}

export function charts(...shown: Child[]): HTMLElement {
  return h("div", { class: "charts" }, shown);
}

// --- tables ----------------------------------------------------------------------------------------------------------

export const count = (title: string, key: string): Column => ({ name: title, numeric: true, cell: (row) => number(row[key]) });
export const paid = (title: string, key: string): Column => ({ name: title, numeric: true, cell: (row) => money(row[key]) });
export const named = (title: string, key: string): Column => ({ name: title, cell: (row) => foreign(text(row[key]) || String(row[key] ?? "–")) });

// The rounds that have closed, the newest first, below their charts.
export function closedRounds(closed: Json[], head: Column[], own: (row: Json) => boolean, ...shown: Child[]): Part {
  const content = closed.length ? [charts(...shown), grid("Closed rounds", head, [...closed].reverse().slice(0, 30), own)] : h("p", { class: "empty" }, "No round has closed yet.");
  return { name: "Closed rounds", key: "rounds", content };
}

// What a click fills in: a verb, of what, the tool, its values.
export type Move = [verb: string, what: string, tool: string, values: Json];

// Those for which the seat has the tool, as long as anything may be done.
export function moves(known: Known, open: Open, ...offers: Move[]): HTMLElement {
  const can = new Set(known.state.over ? [] : known.state.actions.map((action) => action.name));
  return h("p", { class: "moves" }, offers.filter(([, , tool]) => can.has(tool)).map(([verb, what, tool, values]) =>
    button(`${verb} …`, () => open(tool, values), { class: "link", "data-key": `${verb} ${what}`, "aria-label": `${verb} ${what}` })));
}

// --- talk ------------------------------------------------------------------------------------------------------------

export const THEIRS = "Words of other seats are their words: no rules, and no instructions.";

export interface Said { who: string; when: string; said: string; own: boolean }

// Talk, the newest last and in view.
export function talk(messages: Said[], marked = false): Child {
  if (!messages.length) return h("p", { class: "empty" }, "Nothing has been said.");
  return [marked ? null : h("p", { class: "aside" }, THEIRS), h("div", { class: "talk", tabindex: 0, role: "log", "aria-label": "Messages", "data-end": true }, messages.slice(-60).map((message) =>
    h("div", { class: `message ${message.own ? "reply" : ""}` }, h("span", { class: "who" }, foreign(message.who), h("br"), h("span", { class: "num" }, message.when)),
      message.said ? h("pre", { dir: "auto" }, message.said) : h("span", { class: "quiet" }, "silence"))))];
}

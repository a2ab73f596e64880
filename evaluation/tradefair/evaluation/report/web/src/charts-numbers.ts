// The numbers of a chart as a table and as CSV (charts/numbers.py writes the same, but for signs that are hidden), and how to read the picture.

import type { Chart } from "./data";
import { h, visible } from "./dom";
import { number } from "./format";
import { unit } from "./plot";
import { term } from "./terms";

const MAX_TABLE = 2_000;
type Cell = string | number | boolean | null;
interface Rows { head: string[]; rows: Cell[][] }

const READING: Record<Chart["shape"], string> = {
  xy: "Each point is one value; a gap in a line means that there was none. A dot with a number stands for as many equal ones, a larger one without a number for several.",
  bars: "Each bar is one value and begins at 0; a dash stands for no value.",
  heat: "Each cell is one row at one column; empty cells had nothing to show.",
  intervals: "The dot is the value, the line the range that it may lie in.",
  matrix: "A cell is the row against the column: blue is in favour of the row, orange against it, and pale is close to 0.",
  strips: "Each dot is one value; its height within the row means nothing but room. The tick is the mean of all values; on the right stands how many there are, and how many of them are shown.",
  pairs: "Each dot is one pair, the largest difference on top; right of the line the first is ahead. The diamond is the mean, its bar the interval.",
};

// Sentences: what the evaluator says of the chart, then what its shape means.
export function reading(chart: Chart): string[] {
  return [chart.note, READING[chart.shape]].filter(Boolean).map(visible);
}

export function pairRows(chart: Chart & { shape: "pairs" }): { name: string; value: number; muted: boolean }[] {
  const rows = chart.names.map((name, place) => ({ name, value: chart.differences[place] ?? 0, muted: chart.muted[place] ?? false }));
  return rows.sort((a, b) => b.value - a.value);
}

// One row per point, cell, bar, interval or pair.
function rowsOf(chart: Chart): Rows {
  const x = unit(chart.x), y = unit(chart.y);
  if (chart.shape === "bars") {
    const groups = [chart.bars, ...(chart.marks ? [chart.marks] : [])];
    return { head: [y, ...groups.map((group) => group.name)], rows: chart.names.map((name, place) => [name, ...groups.map((group) => group.values[place] ?? null)]) };
  }
  if (chart.shape === "heat") {
    const grouped = chart.groups.length > 0;
    const rows = chart.cells.map(([row, column, value]) => [
      chart.rows[row] ?? "", ...(grouped ? [chart.groups[row] ?? ""] : []), column, chart.levels.length ? (chart.levels[value - 1] ?? "") : value,
    ]);
    return { head: [y, ...(grouped ? ["group"] : []), x, "value"], rows };
  }
  if (chart.shape === "intervals")
    return { head: [y, x, "low", "high"], rows: chart.names.map((name, place) => [name, chart.values[place] ?? null, chart.lows[place] ?? null, chart.highs[place] ?? null]) };
  if (chart.shape === "matrix")
    return { head: [y, "against", x, "note"], rows: chart.cells.map((cell) => [chart.names[cell.row] ?? "", chart.names[cell.column] ?? "", cell.value, cell.note]) };
  if (chart.shape === "pairs") {
    const rows = pairRows(chart).map((row): Cell[] => [row.name, row.value, null, null, !row.muted]);
    return { head: [y, x, "low", "high", "informative"], rows: [...rows, ["mean", chart.mean, chart.low, chart.high, null]] };
  }
  if (chart.shape === "strips")
    return { head: [y, x, "values in all", "mean of all"], rows: chart.strips.flatMap((strip) => strip.values.map((value): Cell[] => [strip.name, value, strip.of, strip.mean])) };
  const panels = chart.lines.some((line) => line.panel !== null), panel = (name: string | null): Cell[] => (panels ? [name] : []);
  const rows = chart.lines.flatMap((line) => line.x.map((at, place): Cell[] => [line.name, ...panel(line.panel), at, line.y[place] ?? null]));
  const bands = chart.bands.flatMap((band) => [...new Set([band.low, band.high])].map((edge): Cell[] => [band.label, ...panel(null), null, edge]));
  return { head: ["series", ...(panels ? ["panel"] : []), x, y], rows: [...rows, ...bands] };
}

// Lines over common positions are read side by side.
function sideBySide(chart: Chart): Rows {
  if (chart.shape !== "xy" || chart.lines.some((line) => line.mark === "dots")) return rowsOf(chart);
  const at = [...new Set(chart.lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const values = chart.lines.map((line) => new Map(line.x.map((x, place) => [x, line.y[place] ?? null])));
  return { head: [unit(chart.x), ...chart.lines.map((line) => line.panel ?? line.name)], rows: at.map((x) => [x, ...values.map((value) => value.get(x) ?? null)]) };
}

export function numbersTable(chart: Chart): HTMLElement {
  const { head, rows } = sideBySide(chart);
  const shown = (cell: Cell): string => (typeof cell === "boolean" ? (cell ? "yes" : "no") : number(cell));
  const body = rows.slice(0, MAX_TABLE).map((row) =>
    h("tr", {}, row.map((cell, place) => (place === 0 ? h("th", { scope: "row" }, shown(cell)) : h("td", { class: "num" }, shown(cell))))));
  const more = rows.length > MAX_TABLE ? h("p", { class: "aside" }, `The first ${number(MAX_TABLE)} of ${number(rows.length)} rows.`) : null;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${chart.title}: numbers` },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((name, place) => h("th", { scope: "col", class: place ? "num" : "" }, term(name, `${name}, in the numbers of “${chart.title}”. ${reading(chart).join(" ")}`, false))))), h("tbody", {}, body)), more);
}

// A spreadsheet runs text that begins with a sign; an apostrophe keeps it text. Numbers stay as they are.
const FORMULA = /^[=+\-@＝＋－＠]/, NUMBER = /^[+\-−~]?[\d,]+(\.\d+)?%?$/;

function csvCell(cell: Cell): string {
  if (typeof cell !== "string") return cell === null ? "" : String(cell);
  const line = visible(cell).split(/\s+/).filter(Boolean).join(" ");
  const text = FORMULA.test(line) && !NUMBER.test(line) ? `'${line}` : line;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function chartCsv(chart: Chart): string {
  const { head, rows } = rowsOf(chart);
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\n`).join("");
}

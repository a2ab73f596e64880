// Pictures from their description: small SVGs by Observable Plot, each with a legend and a table of its numbers.

import * as Plot from "@observablehq/plot";
import { drawIntervals, drawMatrix, drawPairs, pairRows } from "./charts-ranked";
import type { BarChart, Chart, HeatChart, Line, XYChart } from "./data";
import { freshId, h, svg, visible, type Child } from "./dom";
import { aligned, number } from "./format";
import { drawn, unit } from "./plot";

const COLOURS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "1 3"];
const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "cross"] as const;
const MAX_TABLE = 2_000;

export type Domain = [number, number];

function ticks(domain: Domain, most: number): number {
  return Math.max(2, Math.min(most, Math.abs(domain[1] - domain[0])));
}

// --- lines, steps and dots -------------------------------------------------------------------------------------------

function extent(values: (number | null)[], pad: number): Domain {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  if (known.length === 0) return [0, 1];
  let low = Infinity, high = -Infinity;
  for (const value of known) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const room = (high - low || Math.abs(high) || 1) * pad;
  return [low >= 0 && low < (high - low) * 0.6 ? 0 : low - room, high + room];
}

export function valueDomain(chart: XYChart): Domain {
  return extent([...chart.lines.flatMap((line) => line.y), ...chart.bands.flatMap((band) => [band.low, band.high])], 0.06);
}

function positionDomain(chart: XYChart): Domain {
  const [low, high] = extent(chart.lines.flatMap((line) => line.x), 0);
  return [Math.min(...chart.lines.map((line) => line.x[0] ?? low)), high];
}

interface Point { x: number; y: number; name: string; count: number }

function points(line: Line): Point[] {
  return line.x.flatMap((x, place) => {
    const y = line.y[place];
    return y === null || y === undefined ? [] : [{ x, y, name: visible(line.name), count: 1 }];
  });
}

// Dots that fall on one place become one dot whose area says how many.
function stacked(line: Line): Point[] {
  const found = new Map<string, Point>();
  for (const point of points(line)) {
    const known = found.get(`${point.x} ${point.y}`);
    if (known) known.count += 1;
    else found.set(`${point.x} ${point.y}`, point);
  }
  return [...found.values()];
}

function lineMark(line: Line, place: number): Plot.Markish[] {
  const stroke = COLOURS[place % COLOURS.length] ?? "currentColor";
  if (line.mark === "dots") {
    const symbol = SYMBOLS[place % SYMBOLS.length] ?? "circle";
    const radius = (point: Point) => 2.4 + 1.3 * Math.sqrt(point.count - 1);
    return [Plot.dot(stacked(line), { x: "x", y: "y", r: { value: radius, scale: null }, symbol, fill: stroke, fillOpacity: 0.55, stroke, strokeWidth: 0.75 })];
  }
  const gaps = line.x.map((x, at) => ({ x, y: line.y[at] ?? NaN }));
  const dash = DASHES[place % DASHES.length];
  const curve = line.mark === "step" ? "step-after" : "linear";
  return [Plot.line(gaps, { x: "x", y: "y", stroke, strokeWidth: line.faint ? 1 : 1.75, curve, ...(dash ? { strokeDasharray: dash } : {}) })];
}

function bandMarks(chart: XYChart, labelled: boolean): Plot.Markish[] {
  return chart.bands.flatMap((band) => {
    const line = band.low === band.high;
    const mark = line
      ? Plot.ruleY([band.low], { stroke: "var(--faint)", strokeDasharray: "3 3" })
      : Plot.rectY([band], { y1: "low", y2: "high", fill: "var(--c6)", fillOpacity: 0.13 });
    const text = Plot.text([visible(band.label)], {
      frameAnchor: "right", y: band.high, dy: -6, textAnchor: "end", fill: "var(--quiet)", stroke: "var(--paper)", strokeWidth: 3,
    });
    return labelled ? [mark, text] : [mark];
  });
}

function xyPlot(chart: XYChart, lines: Line[], width: number, height: number, x: Domain, y: Domain, small: boolean): SVGElement {
  const marks = lines.flatMap((line) => lineMark(line, Math.max(0, chart.lines.indexOf(line) % 6) * (small ? 0 : 1)));
  const all = lines.flatMap((line) => (line.mark === "dots" ? stacked(line) : points(line)));
  const tell = (point: Point) =>
    `${point.name}: ${number(point.y)}${point.count > 1 ? ` (${point.count} times)` : ""}\n${visible(chart.x.label)} ${number(point.x)}`;
  return drawn({
    width, height,
    marginLeft: 7 * Math.max(number(y[0]).length, number(Math.round(y[1])).length, 3) + 16, marginBottom: small ? 24 : 36, marginTop: small ? 8 : 24, marginRight: 12,
    x: { domain: x, label: small ? null : unit(chart.x), labelAnchor: "center", labelArrow: "none", ticks: ticks(x, small ? 4 : width / 80), tickFormat: number, tickSize: 4 },
    y: { domain: y, label: small ? null : unit(chart.y), labelArrow: "none", ticks: small ? 3 : 5, tickFormat: number, tickSize: 0, grid: true },
    marks: [
      ...bandMarks(chart, !small),
      Plot.ruleY(y[0] < 0 && y[1] > 0 ? [0] : [], { stroke: "var(--faint)" }),
      ...marks,
      Plot.tip(all, Plot.pointer({ x: "x", y: "y", title: tell, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

function drawXY(chart: XYChart, width: number, domain: Domain | null): Child {
  const y = domain ?? valueDomain(chart), x = positionDomain(chart);
  const panels = [...new Set(chart.lines.map((line) => line.panel))];
  if (panels.length === 1 && panels[0] === null) return xyPlot(chart, chart.lines, width, Math.min(300, Math.max(210, width * 0.42)), x, y, false);
  const columns = Math.max(1, Math.min(4, Math.floor(width / 210)));
  const each = Math.floor((width - (columns - 1) * 12) / columns);
  return h("div", { class: "panels", "data-columns": columns }, panels.map((panel) =>
    h("div", {}, h("div", { class: "panel-name" }, panel ?? ""),
      xyPlot(chart, chart.lines.filter((line) => line.panel === panel), each, 112, x, y, true))));
}

// --- bars ------------------------------------------------------------------------------------------------------------

export function barDomain(chart: BarChart): Domain {
  return extent([0, ...chart.bars.values, ...(chart.marks?.values ?? [])], 0);
}

function drawBars(chart: BarChart, width: number, domain: Domain | null): Child {
  const rows = chart.names.map((name, place) => ({ name: visible(name), value: chart.bars.values[place] ?? null, mark: chart.marks?.values[place] ?? null }));
  const longest = Math.max(...rows.map((row) => row.name.length), 3);
  const [low, high] = domain ?? barDomain(chart);
  const values = aligned(rows.map((row) => row.value)), said = (_: unknown, place: number): string => values[place] ?? "";
  const left = Math.min(width * 0.42, longest * 6.6 + 14), wide = Math.max(...values.map((value) => value.length)) * 7 + 12;
  const room = ((high - low) * wide) / Math.max(80, width - left - 14 - (low < 0 ? 2 : 1) * wide);
  return drawn({
    width, height: rows.length * 25 + 46,
    marginLeft: left, marginRight: 14, marginTop: 4, marginBottom: 38,
    x: { domain: [Math.min(0, low) - (low < 0 ? room : 0), high + room], label: unit(chart.x), labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor(width / 110)), tickFormat: number, tickSize: 4, grid: true },
    y: { domain: rows.map((row) => row.name), label: null, tickSize: 0, padding: 0.28 },
    marks: [
      Plot.barX(rows, { x: "value", y: "name", fill: "var(--c1)" }),
      Plot.tickX(rows.filter((row) => row.mark !== null), { x: "mark", y: "name", stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.ruleX([0], { stroke: "var(--faint)" }),
      Plot.text(rows, {
        x: (row: { value: number | null }) => row.value ?? 0, y: "name", text: said,
        textAnchor: "start", dx: 5, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3,
        filter: (row: { value: number | null }) => (row.value ?? 0) >= 0,
      }),
      Plot.text(rows, {
        x: "value", y: "name", text: said, textAnchor: "end", dx: -5,
        fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3, filter: (row: { value: number | null }) => (row.value ?? 0) < 0,
      }),
    ],
  });
}

// --- calendars -------------------------------------------------------------------------------------------------------

const LEVEL_COLOURS: Record<number, string[]> = {
  1: ["var(--h3)"], 2: ["var(--h3)", "var(--h4)"], 3: ["var(--h2)", "var(--h3)", "var(--h4)"], 4: ["var(--h1)", "var(--h2)", "var(--h3)", "var(--h4)"],
};

const KIND_OPACITY = 0.45;

interface Cell { row: number; column: number; value: number; share: number; fill: string }

function kindColour(value: number): string {
  return COLOURS[(value - 1) % COLOURS.length] ?? "currentColor";
}

function cells(chart: HeatChart): Cell[] {
  const most = Math.max(1, ...chart.cells.map((cell) => cell[2]));
  const colours = LEVEL_COLOURS[Math.min(4, chart.levels.length)];
  return chart.cells.map(([row, column, value]) => {
    if (!chart.ordered) return { row, column, value, share: 1, fill: kindColour(value) };
    if (colours) return { row, column, value, share: value / chart.levels.length, fill: colours[value - 1] ?? "var(--h4)" };
    // Counts differ by orders of magnitude: equal steps of their logarithm.
    const step = most === 1 ? 3 : Math.ceil((4 * Math.log1p(value)) / Math.log1p(most));
    return { row, column, value, share: 1, fill: `var(--h${Math.max(1, step)})` };
  });
}

function rowTicks(chart: HeatChart, height: number): { at: number; text: string }[] {
  if (height >= 11 || chart.groups.length === 0) return chart.rows.map((text, row) => ({ at: row + 0.5, text }));
  return chart.groups.flatMap((group, row) => {
    if (group === chart.groups[row - 1]) return [];
    const end = chart.groups.findIndex((other, later) => later > row && other !== group);
    return [{ at: (row + (end < 0 ? chart.groups.length : end)) / 2, text: group }];
  });
}

function drawHeat(chart: HeatChart, width: number): Child {
  const height = chart.rows.length > 40 ? 6 : 18;
  const labels = rowTicks(chart, height).map((label) => ({ ...label, text: visible(label.text) }));
  const columns = chart.last_column - chart.first_column + 1;
  const left = Math.min(width * 0.34, Math.max(...labels.map((label) => label.text.length), 4) * 6.4 + 12);
  const wide = (width - left - 12) / columns, gap = wide > 5 ? 0.06 : 0;
  const found = cells(chart);
  const what = (cell: Cell) => (chart.levels.length ? visible(chart.levels[cell.value - 1] ?? "") : number(cell.value));
  const tell = (cell: Cell) =>
    `${visible(chart.rows[cell.row] ?? "")}${chart.groups[cell.row] ? ` · ${visible(chart.groups[cell.row] ?? "")}` : ""}\n${visible(chart.x.label)} ${cell.column}: ${what(cell)}`;
  const boundaries = chart.groups.flatMap((group, row) => (row > 0 && group !== chart.groups[row - 1] ? [row] : []));
  return drawn({
    width, height: height * chart.rows.length + 48, marginLeft: left, marginRight: 12, marginTop: 6, marginBottom: 38,
    x: { domain: [chart.first_column - 0.5, chart.last_column + 0.5], label: unit(chart.x), labelAnchor: "center", labelArrow: "none", tickFormat: number, ticks: Math.max(2, Math.min(columns, Math.floor(width / 80))), tickSize: 4 },
    y: { domain: [0, chart.rows.length], reverse: true, axis: null },
    marks: [
      Plot.axisY(labels.map((label) => label.at), { label: null, tickSize: 0, tickFormat: (_: number, place: number) => labels[place]?.text ?? "" }),
      Plot.frame({ stroke: "var(--line)" }),
      Plot.ruleY(boundaries, { stroke: "var(--line)" }),
      Plot.rect(found, {
        x1: (cell: Cell) => cell.column - 0.5 + gap, x2: (cell: Cell) => cell.column + 0.5 - gap,
        y1: (cell: Cell) => cell.row + 1 - 0.08, y2: (cell: Cell) => cell.row + 1 - Math.max(0.25, cell.share) * 0.92, fill: "fill",
        fillOpacity: chart.ordered ? 1 : KIND_OPACITY,
      }),
      // Kinds are told apart by their names, or as much of these as fits, and not by colour alone.
      Plot.text(chart.ordered || height < 11 ? [] : found, {
        x: "column", y: (cell: Cell) => cell.row + 0.5, fill: "var(--ink)", text: (cell: Cell) => what(cell).slice(0, Math.floor((wide - 6) / 6.6)),
      }),
      Plot.tip(found, Plot.pointer({ x: "column", y: (cell: Cell) => cell.row + 0.5, title: tell, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

// --- legend, table, figure -------------------------------------------------------------------------------------------

function swatch(line: Line, place: number): SVGElement {
  const colour = COLOURS[place % COLOURS.length] ?? "currentColor";
  const box = { width: 26, height: 10, "aria-hidden": "true", class: "swatch" };
  if (line.mark !== "dots")
    return svg("svg", box, svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, stroke: colour, "stroke-width": 2, "stroke-dasharray": DASHES[place % DASHES.length] || "none" }));
  const shape = SYMBOLS[place % SYMBOLS.length];
  if (shape === "triangle") return svg("svg", box, svg("path", { d: "M13 1 L17.5 9 L8.5 9 Z", fill: colour }));
  if (shape === "square") return svg("svg", box, svg("rect", { x: 9, y: 1, width: 8, height: 8, fill: colour }));
  if (shape === "diamond") return svg("svg", box, svg("path", { d: "M13 0 L16.5 5 L13 10 L9.5 5 Z", fill: colour }));
  if (shape === "star") return svg("svg", box, svg("path", { d: "M13 0 L14.2 3.4 L17.8 3.5 L14.9 5.6 L15.9 9 L13 7 L10.1 9 L11.1 5.6 L8.2 3.5 L11.8 3.4 Z", fill: colour }));
  if (shape === "cross") return svg("svg", box, svg("path", { d: "M11.5 0.5 h3 v3 h3 v3 h-3 v3 h-3 v-3 h-3 v-3 h3 Z", fill: colour }));
  return svg("svg", box, svg("circle", { cx: 13, cy: 5, r: 3.5, fill: colour }));
}

function legend(chart: Chart): Child {
  if (chart.shape === "xy") {
    const shown = chart.lines.filter((line, place) => chart.lines.findIndex((other) => other.name === line.name) === place);
    if (shown.length < 2) return null;
    return h("ul", { class: "legend" }, shown.map((line) => h("li", {}, swatch(line, chart.lines.indexOf(line)), line.name)));
  }
  if (chart.shape === "bars")
    return chart.marks && h("ul", { class: "legend" },
      h("li", {}, h("span", { class: "key bar" }), chart.bars.name), h("li", {}, h("span", { class: "key tick" }), chart.marks.name));
  if (chart.shape === "pairs")
    return chart.muted.some(Boolean) && h("ul", { class: "legend" },
      h("li", {}, svg("svg", { width: 10, height: 10, class: "swatch" }, svg("circle", { cx: 5, cy: 5, r: 4, fill: "var(--c1)" })), "informative"),
      h("li", {}, svg("svg", { width: 10, height: 10, class: "swatch" }, svg("circle", { cx: 5, cy: 5, r: 3.5, fill: "none", stroke: "var(--faint)" })), "nothing to win, whoever plays"));
  if (chart.shape !== "heat") return null;
  const colours = LEVEL_COLOURS[Math.min(4, chart.levels.length)];
  return colours && h("ul", { class: "legend" }, chart.levels.map((level, place) => {
    const share = chart.ordered ? (place + 1) / chart.levels.length : 1;
    const look = chart.ordered ? { fill: colours[place] ?? "" } : { fill: kindColour(place + 1), "fill-opacity": KIND_OPACITY };
    const mark = svg("rect", { x: 2, y: 1 + 10 * (1 - share), width: 10, height: 10 * share, ...look });
    return h("li", {}, svg("svg", { width: 14, height: 12, class: "swatch", "aria-hidden": "true" }, mark), level);
  }));
}

function tableRows(chart: Chart): { head: string[]; rows: string[][] } {
  if (chart.shape === "bars") {
    const head = [unit(chart.y), `${chart.bars.name}`, ...(chart.marks ? [chart.marks.name] : [])];
    return { head, rows: chart.names.map((name, place) => [name, number(chart.bars.values[place]), ...(chart.marks ? [number(chart.marks.values[place])] : [])]) };
  }
  if (chart.shape === "heat") {
    const head = [chart.y.label, ...(chart.groups.length ? ["group"] : []), chart.x.label, "value"];
    const rows = chart.cells.map(([row, column, value]) => [
      chart.rows[row] ?? "", ...(chart.groups.length ? [chart.groups[row] ?? ""] : []), number(column), chart.levels[value - 1] ?? number(value),
    ]);
    return { head, rows };
  }
  if (chart.shape === "intervals") {
    const rows = chart.names.map((name, place) => [name, number(chart.values[place]), number(chart.lows[place]), number(chart.highs[place])]);
    return { head: [unit(chart.y), unit(chart.x), "low", "high"], rows };
  }
  if (chart.shape === "matrix") {
    const rows = chart.cells.map((cell) => [chart.names[cell.row] ?? "", chart.names[cell.column] ?? "", number(cell.value), cell.note]);
    return { head: [unit(chart.y), unit(chart.x), "difference", "games"], rows };
  }
  if (chart.shape === "pairs") {
    const rows = pairRows(chart).map((row) => [row.name, number(row.value), "–", "–", row.muted ? "no" : "yes"]);
    return { head: [unit(chart.y), unit(chart.x), "low", "high", "informative"], rows: [...rows, ["mean", number(chart.mean), number(chart.low), number(chart.high), "–"]] };
  }
  const dots = chart.lines.some((line) => line.mark === "dots");
  if (dots) {
    const rows = chart.lines.flatMap((line) => line.x.map((x, place) => [line.name, number(x), number(line.y[place])]));
    return { head: ["series", unit(chart.x), unit(chart.y)], rows };
  }
  const at = [...new Set(chart.lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const maps = chart.lines.map((line) => new Map(line.x.map((x, place) => [x, line.y[place]])));
  const names = chart.lines.map((line) => (line.panel ? line.panel : line.name));
  return { head: [unit(chart.x), ...names], rows: at.map((x) => [number(x), ...maps.map((map) => number(map.get(x)))]) };
}

function numbersTable(chart: Chart): HTMLElement {
  const { head, rows } = tableRows(chart);
  const body = rows.slice(0, MAX_TABLE).map((row) =>
    h("tr", {}, row.map((cell, place) => (place === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: "num" }, cell)))));
  const more = rows.length > MAX_TABLE ? h("p", { class: "aside" }, `The first ${number(MAX_TABLE)} of ${number(rows.length)} rows.`) : null;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${chart.title}: numbers` },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((name, place) => h("th", { scope: "col", class: place ? "num" : "" }, name)))), h("tbody", {}, body)), more);
}

function body(chart: Chart, width: number, domain: Domain | null): Child {
  if (chart.shape === "xy") return drawXY(chart, width, domain);
  if (chart.shape === "bars") return drawBars(chart, width, domain);
  if (chart.shape === "intervals") return drawIntervals(chart, width);
  if (chart.shape === "pairs") return drawPairs(chart, width);
  return chart.shape === "matrix" ? drawMatrix(chart, width) : drawHeat(chart, width);
}

// A figure that fits its column, and draws itself anew when that changes.
export function figure(chart: Chart, domain: Domain | null = null, side = ""): HTMLElement {
  const title = freshId("chart");
  const canvas = h("div", { class: "canvas" });
  const details = h("details", {}, h("summary", {}, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(numbersTable(chart));
  });
  let width = 0;
  new ResizeObserver((entries) => {
    const now = Math.floor(entries[0]?.contentRect.width ?? 0);
    if (now === width || now < 40) return;
    width = now;
    const shown = body(chart, width, domain);
    canvas.replaceChildren(...([shown].flat() as Node[]));
  }).observe(canvas);
  return h("figure", { class: `chart ${chart.shape}`, "aria-labelledby": title, "data-chart": chart.id },
    h("figcaption", {}, h("h3", { id: title }, side ? [h("span", { class: "letter" }, side), " "] : null, chart.title), chart.note ? h("p", {}, chart.note) : null), legend(chart), canvas, details);
}

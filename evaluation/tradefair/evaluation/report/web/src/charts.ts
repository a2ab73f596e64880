// Pictures from their description: small SVGs by Observable Plot, each with its legend. What the page shows and what
// is written to a file come from the same `drawing`.

import * as Plot from "@observablehq/plot";
import { drawIntervals, drawMatrix, drawPairs, drawStrip } from "./charts-ranked";
import { chartCsv, numbersTable, reading } from "./charts-numbers";
import { picture } from "./charts-file";
import type { BarChart, Chart, HeatChart, Line, XYChart } from "./data";
import { button, foreign, freshId, h, svg, visible } from "./dom";
import { number } from "./format";
import { term } from "./terms";
import { cut, type Drawing, drawn, type Entry, fromZero, MARGIN, type Panel, unit } from "./plot";

const COLOURS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "1 3"];
const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "cross"] as const;
const FILE_WIDTH = 720;
const MAX_COUNTS = 80;
const OWN = "var(--accent)", OTHER = "var(--c5)";

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

// Bars stand in a picture of their own below the lines.
function beside(line: Line): boolean {
  return line.mark !== "bars";
}

export function valueDomain(chart: XYChart): Domain {
  return extent([...chart.lines.filter(beside).flatMap((line) => line.y), ...chart.bands.flatMap((band) => [band.low, band.high])], 0.06);
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

// Dots that fall on one place become one dot that says how many.
function stacked(line: Line): Point[] {
  const found = new Map<string, Point>();
  for (const point of points(line)) {
    const known = found.get(`${point.x} ${point.y}`);
    if (known) known.count += 1;
    else found.set(`${point.x} ${point.y}`, point);
  }
  return [...found.values()];
}

function isOwn(chart: XYChart, line: Line): boolean {
  return chart.accent !== null && (line.name === chart.accent || line.panel === chart.accent);
}

// The seat under test has the accent and all others are grey; without one, lines have the colours of series.
function colour(chart: XYChart, line: Line): string {
  if (chart.accent !== null) return isOwn(chart, line) ? OWN : OTHER;
  // In a small panel the line of all is the same in each: context, not a series.
  if (line.faint && line.panel !== null) return OTHER;
  return COLOURS[(line.panel === null ? chart.lines.indexOf(line) : 0) % COLOURS.length] ?? "currentColor";
}

function layer(chart: XYChart, line: Line): number {
  return (line.mark === "dots" ? 2 : 0) + (isOwn(chart, line) ? 1 : 0);
}

// Pixels between two positions of a plot's frame.
type Apart = (a: Point, b: Point) => number;

function lineMark(chart: XYChart, line: Line, apart: Apart): Plot.Markish[] {
  const stroke = colour(chart, line), place = line.panel === null ? chart.lines.indexOf(line) : 0;
  if (line.mark === "dots") {
    const all = stacked(line);
    // A count is shown where no other dot is near; elsewhere, and among many, the dot's area has to tell.
    const many = all.filter((point) => point.count > 1);
    const counted = new Set(many.length > MAX_COUNTS ? [] : many.filter((point) => all.every((other) => other === point || apart(point, other) > 14)));
    const radius = (point: Point) => (counted.has(point) ? 4 + 2.6 * String(point.count).length : 2.9 + Math.min(5, 1.3 * Math.sqrt(point.count - 1)));
    const symbol = SYMBOLS[place % SYMBOLS.length] ?? "circle";
    return [
      Plot.dot(all, { x: "x", y: "y", r: { value: radius, scale: null }, symbol, fill: stroke, fillOpacity: 0.55, stroke, strokeWidth: 0.75 }),
      Plot.text(counted, { x: "x", y: "y", text: (point: Point) => String(point.count), fontSize: 9, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 1.5 }),
    ];
  }
  if (line.mark === "bars") return barMarks(line, apart);
  const gaps = line.x.map((x, at) => ({ x, y: line.y[at] ?? NaN }));
  const dash = isOwn(chart, line) ? "" : DASHES[place % DASHES.length];
  const curve = line.mark === "step" ? "step-after" : "linear";
  const strokeWidth = isOwn(chart, line) ? 2.25 : line.faint ? 1 : 1.75;
  return [
    ...shade(chart, line, stroke, curve),
    Plot.line(gaps, { x: "x", y: "y", stroke, strokeWidth, curve, ...(dash ? { strokeDasharray: dash } : {}) }),
  ];
}

// Each bar from 0, more than half as wide as its position; texts have a row each, so that none covers another.
function barMarks(line: Line, apart: Apart): Plot.Markish[] {
  const at = (x: number): Point => ({ x, y: 0, name: "", count: 1 }), all = points(line), [first = 0, last = 1] = [line.x[0], line.x.at(-1)];
  const told = labelled(line), room = Math.max(1.5, Math.min(12, 0.6 * apart(at(0), at(1))));
  return [
    ...told.map(({ x, y, name }, row) => [
      Plot.ruleX([{ x, y }], { x: "x", y1: "y", y2: Math.max(...all.map((point) => point.y)), stroke: "var(--faint)", insetTop: -13 * (told.length - row) + 4 }),
      Plot.text([{ x, name }], { x: "x", text: "name", frameAnchor: "top", textAnchor: x - first >= (last - first) / 2 ? "end" : "start", dx: x - first >= (last - first) / 2 ? -4 : 4, dy: -13 * (told.length - row), fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 }),
    ]),
    Plot.ruleX(all, { x: "x", y1: 0, y2: "y", stroke: ({ y }: Point) => (y < 0 ? OTHER : "var(--c2)"), strokeWidth: room, className: "bars" }),
  ];
}

// What is done with a bar that is chosen, by its index in its line, and what it says of itself.
export interface Pick { names: string[]; act: (bar: number, opener: SVGElement) => void }

// Each bar takes the height of the picture: a small loss is as easy to hit as a large one. One of them is in the order
// of tabs, and the arrow keys go on from it.
function pickable(plot: SVGElement, line: Line, { names, act }: Pick): void {
  const bars = [...plot.querySelectorAll(".bars line")], at = bars.map((bar) => Number(bar.getAttribute("x1")));
  const places = line.y.flatMap((y, place) => (y === null ? [] : [place])), height = Number(plot.getAttribute("height"));
  const hits = at.map((x, number) => {
    const left = (x + Math.max(at[number - 1] ?? 0, x - 24)) / 2, right = (x + Math.min(at[number + 1] ?? Infinity, x + 24)) / 2, place = places[number] ?? -1;
    const hit = svg("rect", { class: "pick", x: left, y: 0, width: right - left, height, tabindex: number ? -1 : 0, role: "link", "aria-label": visible(names[place] ?? ""), "data-bar": place });
    hit.addEventListener("click", () => act(place, hit));
    hit.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") act(place, hit);
      const next = hits[number + (key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0)];
      if (!next || next === hit) return;
      hit.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
    return hit;
  });
  for (const part of plot.children) part.setAttribute("aria-hidden", "true");
  plot.append(...hits);
  plot.removeAttribute("aria-hidden");
}

function labelled(line: Line): Point[] {
  return line.x.flatMap((x, at) => (line.labels?.[at] ? [{ x, y: line.y[at] ?? 0, name: visible(line.labels[at] ?? ""), count: 1 }] : []));
}

// The area between a line and the one that it names; none where either has a gap.
function shade(chart: XYChart, line: Line, fill: string, curve: "step-after" | "linear"): Plot.Markish[] {
  const other = chart.lines.find((to) => to.name === line.shade_to && to.panel === line.panel);
  if (!other) return [];
  const between = line.x.map((x, at) => ({ x, from: line.y[at] ?? NaN, to: other.y[at] ?? NaN }));
  return [Plot.areaY(between, { x: "x", y1: "from", y2: "to", fill, fillOpacity: 0.15, curve })];
}

function bandMarks(chart: XYChart): Plot.Markish[] {
  return chart.bands.map((band) => band.low === band.high
    ? Plot.ruleY([band.low], { stroke: "var(--faint)", strokeDasharray: "3 3" })
    : Plot.rectY([band], { y1: "low", y2: "high", fill: "var(--c6)", fillOpacity: 0.13 }));
}

interface End { y: number; text: string; fill: string }

// Names of lines and bands where they end, in the right margin, where no mark can be. None where they would take
// more than a third of the width, on a phone a fifth: the legend has them then.
function ends(chart: XYChart, lines: Line[], width: number): End[] {
  const named = lines.filter((line) => line.mark !== "dots" && line.y.some((value) => value !== null));
  const found = [
    ...(lines.length > 1 ? named.map((line) => ({ y: line.y.findLast((value) => value !== null) ?? 0, text: visible(line.name), fill: colour(chart, line) })) : []),
    ...chart.bands.map((band) => ({ y: (band.low + band.high) / 2, text: visible(band.label), fill: "var(--quiet)" })),
  ];
  return found.length > 8 || Math.max(0, ...found.map((end) => end.text.length)) * 6.6 > width / (width < 480 ? 5 : 3) ? [] : found;
}

// Heights at which names do not touch each other, within the frame.
function spread(found: End[], top: number, bottom: number, y: Domain): (End & { at: number })[] {
  const scale = (bottom - top) / (y[1] - y[0]);
  const placed = found.map((end) => ({ ...end, at: bottom - (end.y - y[0]) * scale })).sort((a, b) => a.at - b.at);
  for (const [place, end] of placed.entries()) end.at = Math.max(end.at, (placed[place - 1]?.at ?? -Infinity) + 13, top);
  for (const [place, end] of [...placed.entries()].reverse()) end.at = Math.min(end.at, (placed[place + 1]?.at ?? Infinity) - 13, bottom);
  return placed.map((end) => ({ ...end, y: y[0] + (bottom - end.at) / scale }));
}

// Pixels that the numbers of an axis take on the left.
function roomFor(y: Domain): number {
  return 7 * Math.max(number(y[0]).length, number(Math.round(y[1])).length, 3) + 16;
}

function xyPlot(chart: XYChart, lines: Line[], width: number, height: number, x: Domain, y: Domain, names: End[], small: boolean, left = roomFor(y), named = true): SVGElement {
  const all = lines.flatMap((line) => (line.mark === "dots" ? stacked(line) : points(line)));
  const tell = (point: Point) =>
    `${point.name}: ${number(point.y)}${point.count > 1 ? ` (${point.count} times)` : ""}\n${visible(chart.x.label)} ${number(point.x)}`;
  const marginTop = small ? 8 : 24 + 13 * Math.max(0, ...lines.map((line) => labelled(line).length)), marginBottom = small ? 24 : 36;
  const marginRight = names.length ? Math.max(...names.map((end) => end.text.length)) * 6.6 + 16 : 12;
  const perX = (width - left - marginRight) / (x[1] - x[0] || 1), perY = (height - marginTop - marginBottom) / (y[1] - y[0]);
  const apart: Apart = (a, b) => Math.max(Math.abs(a.x - b.x) * perX, Math.abs(a.y - b.y) * perY);
  return drawn({
    width, height, marginTop, marginBottom, marginRight, marginLeft: left,
    x: { domain: x, label: small ? null : unit(chart.x), labelAnchor: "center", labelArrow: "none", ticks: ticks(x, small ? 4 : width / 80), tickFormat: number, tickSize: 4 },
    y: { domain: y, label: small ? null : fromZero(chart.y, y), labelArrow: "none", ticks: small || lines.every((line) => !beside(line)) ? 3 : 5, tickFormat: number, tickSize: 0, grid: true },
    marks: [
      ...bandMarks(chart),
      Plot.ruleY(y[0] < 0 && y[1] > 0 ? [0] : [], { stroke: "var(--faint)" }),
      // The seat under test above the grey lines, and dots above all lines.
      ...[...lines].sort((a, b) => layer(chart, a) - layer(chart, b)).flatMap((line) => lineMark(chart, line, apart)),
      ...spread(named ? names : [], marginTop, height - marginBottom, y).map((end) =>
        Plot.text([end], { y: "y", frameAnchor: "right", textAnchor: "start", dx: 8, text: "text", fill: end.fill, stroke: "var(--paper)", strokeWidth: 3 })),
      Plot.tip(all, Plot.pointer({ x: "x", y: "y", title: tell, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

function drawXY(chart: XYChart, width: number, domain: Domain | null): Drawing {
  const y = domain ?? valueDomain(chart), x = positionDomain(chart);
  const panels = [...new Set(chart.lines.map((line) => line.panel))];
  const large = Math.min(300, Math.max(210, width * 0.42));
  if (panels.length === 1 && panels[0] === null) {
    const lines = chart.lines.filter(beside), names = ends(chart, lines, width);
    const below = chart.lines.filter((line) => !beside(line)).map((line) => ({ ...chart, y: { label: line.name, unit: chart.y.unit }, lines: [line], bands: [] }));
    const high = below.map((bars) => extent([0, ...bars.lines.flatMap((line) => line.y)], 0)), left = Math.max(...[y, ...high].map(roomFor));
    const plots = [xyPlot(chart, lines, width, large, x, y, names, false, left), ...below.map((bars, place) => xyPlot(bars, bars.lines, width, 150, x, high[place] ?? y, names, false, left, false))];
    return { legend: lineLegend({ ...chart, lines }, names), columns: 1, panels: plots.map((plot) => ({ name: "", wide: true, width, plot })) };
  }
  const columns = Math.max(1, Math.min(4, Math.floor(width / 210)));
  const column = Math.floor((width - (columns - 1) * MARGIN) / columns);
  const shown = panels.map((panel): Panel => {
    const wide = panel !== null && panel === chart.accent, lines = chart.lines.filter((line) => line.panel === panel);
    return { name: visible(panel ?? ""), wide, width: wide ? width : column, plot: xyPlot(chart, lines, wide ? width : column, wide ? large : 112, x, y, wide ? ends(chart, lines, width) : [], !wide) };
  });
  // The seat under test is one large picture above the small ones.
  shown.sort((a, b) => Number(b.wide) - Number(a.wide));
  return { legend: [...lineLegend(chart, []), { mark: null, text: `${fromZero(chart.y, y)} by ${unit(chart.x)}` }], columns, panels: shown };
}

// --- bars ------------------------------------------------------------------------------------------------------------

export function barDomain(chart: BarChart): Domain {
  return extent([0, ...chart.bars.values, ...(chart.marks?.values ?? [])], 0);
}

function drawBars(chart: BarChart, width: number, domain: Domain | null): SVGElement {
  const rows = chart.names.map((name, place) => {
    const value = chart.bars.values[place] ?? null, mark = chart.marks?.values[place] ?? null;
    const fill = chart.accent === null ? "var(--c1)" : name === chart.accent ? OWN : OTHER;
    return { name: visible(name), value, mark, fill };
  });
  const longest = Math.max(...rows.map((row) => row.name.length), 3);
  const [low, high] = domain ?? barDomain(chart);
  const values = rows.map((row) => number(row.value)), said = (_: unknown, place: number): string => values[place] ?? "";
  const left = Math.min(width * 0.42, longest * 6.6 + 14), wide = Math.max(...values.map((value) => value.length)) * 7 + 12;
  const room = ((high - low) * wide) / Math.max(80, width - left - 14 - (low < 0 ? 2 : 1) * wide);
  // The figure stands at the end of its bar, or beyond the mark where that would cross it.
  const end = ({ value, mark }: (typeof rows)[number]): number => {
    const from = value ?? 0, beyond = mark === null ? 0 : (mark - from) * (from < 0 ? -1 : 1);
    return mark !== null && beyond >= 0 && beyond < room ? mark : from;
  };
  return drawn({
    width, height: rows.length * 25 + 46,
    marginLeft: left, marginRight: 14, marginTop: 4, marginBottom: 38,
    x: { domain: [Math.min(0, low) - (low < 0 ? room : 0), high + room], label: unit(chart.x), labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor(Math.min(width / 110, (width - left) / (wide + 20)))), tickFormat: number, tickSize: 4, grid: true },
    y: { domain: rows.map((row) => row.name), label: null, tickSize: 0, padding: 0.28, tickFormat: cut(left) },
    marks: [
      Plot.barX(rows, { x: "value", y: "name", fill: "fill" }),
      Plot.tickX(rows.filter((row) => row.mark !== null), { x: "mark", y: "name", stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.ruleX([0], { stroke: "var(--faint)" }),
      Plot.text(rows, {
        x: end, y: "name", text: said,
        textAnchor: "start", dx: 5, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3,
        filter: (row: { value: number | null }) => (row.value ?? 0) >= 0,
      }),
      Plot.text(rows, {
        x: end, y: "name", text: said, textAnchor: "end", dx: -5,
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
  // Not as arguments of `max`: there may be 200,000.
  const most = chart.cells.reduce((highest, cell) => Math.max(highest, cell[2]), 1);
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

function drawHeat(chart: HeatChart, width: number): SVGElement {
  const height = chart.rows.length > 40 ? 6 : 18;
  const labels = rowTicks(chart, height).map((label) => ({ ...label, text: visible(label.text) }));
  const columns = chart.last_column - chart.first_column + 1;
  const left = Math.min(width * 0.34, Math.max(...labels.map((label) => label.text.length), 4) * 6.4 + 12);
  const short = cut(left), wide = (width - left - 12) / columns, gap = wide > 5 ? 0.06 : 0;
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
      [true, false].map((own) => {
        const shown = labels.filter((label) => (label.text === chart.accent) === own);
        return Plot.axisY(shown.map((label) => label.at), { label: null, tickSize: 0, tickFormat: (_: number, place: number) => short(shown[place]?.text ?? ""), ...(own ? { fill: OWN, fontWeight: 650 } : {}) });
      }),
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

// --- legend and figure -----------------------------------------------------------------------------------------------

const SYMBOL_PATHS: Partial<Record<(typeof SYMBOLS)[number], string>> = {
  triangle: "M9 2 L13.5 10 L4.5 10 Z", square: "M5 2 h8 v8 h-8 Z", diamond: "M9 1 L12.5 6 L9 11 L5.5 6 Z",
  star: "M9 1 L10.2 4.4 L13.8 4.5 L10.9 6.6 L11.9 10 L9 8 L6.1 10 L7.1 6.6 L4.2 4.5 L7.8 4.4 Z",
  cross: "M7.5 1.5 h3 v3 h3 v3 h-3 v3 h-3 v-3 h-3 v-3 h3 Z",
};

function swatch(chart: XYChart, line: Line): SVGElement {
  const fill = colour(chart, line), place = line.panel === null ? chart.lines.indexOf(line) : 0;
  if (line.mark !== "dots") return svg("line", { x1: 1, x2: 17, y1: 6, y2: 6, stroke: fill, "stroke-width": 2, "stroke-dasharray": (isOwn(chart, line) ? "" : DASHES[place % DASHES.length]) || "none" });
  const path = SYMBOL_PATHS[SYMBOLS[place % SYMBOLS.length] ?? "circle"];
  return path ? svg("path", { d: path, fill }) : svg("circle", { cx: 9, cy: 6, r: 3.5, fill });
}

function lineLegend(chart: XYChart, named: End[]): Entry[] {
  const shown = chart.lines.filter((line, place) => chart.lines.findIndex((other) => other.name === line.name) === place);
  const lines = shown.length < 2 ? [] : shown.filter((line) => line.mark === "dots" || named.length === 0);
  return [
    ...lines.map((line) => ({ mark: swatch(chart, line), text: visible(line.name) })),
    ...(named.length ? [] : chart.bands.map((band) => ({
      mark: band.low === band.high ? svg("line", { x1: 1, x2: 17, y1: 6, y2: 6, stroke: "var(--faint)", "stroke-dasharray": "3 3" }) : box({ y: 2, height: 8, fill: "var(--c6)", "fill-opacity": 0.3 }),
      text: visible(band.label),
    }))),
  ];
}

function box(look: Record<string, string | number>): SVGElement {
  return svg("rect", { x: 2, y: 1, width: 14, height: 10, ...look });
}

function otherLegend(chart: Exclude<Chart, XYChart>): Entry[] {
  if (chart.shape === "bars")
    return chart.marks ? [{ mark: box({ fill: chart.accent === null ? "var(--c1)" : OTHER }), text: visible(chart.bars.name) }, { mark: box({ x: 8, width: 2, y: 0, height: 12, fill: "var(--ink)" }), text: visible(chart.marks.name) }] : [];
  if (chart.shape === "pairs") {
    const muted = chart.muted.some(Boolean) ? [{ mark: svg("circle", { cx: 9, cy: 6, r: 3.5, fill: "none", stroke: "var(--faint)" }), text: "nothing to win, whoever plays" }] : [];
    return [...muted, ...(chart.ties ? [{ mark: null, text: `${number(chart.ties)} of ${number(chart.names.length)} pairs without a difference` }] : [])];
  }
  const colours = chart.shape === "heat" && LEVEL_COLOURS[Math.min(4, chart.levels.length)];
  return !colours ? [] : chart.levels.map((level, place) => {
    const share = chart.ordered ? (place + 1) / chart.levels.length : 1;
    const look = chart.ordered ? { fill: colours[place] ?? "" } : { fill: kindColour(place + 1), "fill-opacity": KIND_OPACITY };
    return { mark: box({ width: 10, y: 1 + 10 * (1 - share), height: 10 * share, ...look }), text: visible(level) };
  });
}

// Everything of a chart that is drawn, for a width in pixels; a common `domain` makes two charts comparable.
export function drawing(chart: Chart, width: number, domain: Domain | null = null): Drawing {
  if (chart.shape === "xy") return drawXY(chart, width, domain);
  const plot = chart.shape === "bars" ? drawBars(chart, width, domain)
    : chart.shape === "intervals" ? drawIntervals(chart, width)
    : chart.shape === "pairs" ? drawPairs(chart, width)
    : chart.shape === "strips" ? drawStrip(chart, width)
    : chart.shape === "matrix" ? drawMatrix(chart, width) : drawHeat(chart, width);
  return { legend: otherLegend(chart), columns: 1, panels: [{ name: "", wide: true, width, plot }] };
}

function onPage({ legend, columns, panels }: Drawing): (Node | string)[] {
  const entries = legend.map(({ mark, text }) => h("li", {}, mark && svg("svg", { width: 18, height: 12, "aria-hidden": "true", class: "swatch" }, mark), text));
  const plots = panels.length === 1 ? panels.map((panel) => panel.plot)
    : [h("div", { class: "panels", "data-columns": columns }, panels.map((panel) => h("div", { class: panel.wide ? "wide" : "" }, h("div", { class: "panel-name" }, foreign(panel.name)), panel.plot)))];
  return [...(entries.length ? [h("ul", { class: "legend" }, entries)] : []), ...plots];
}

function save(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

// A picture that fits its column, and draws itself anew when that changes; `pick` makes its bars links.
export function canvas(chart: Chart, domain: Domain | null = null, pick: Pick | null = null): HTMLElement {
  const element = h("div", { class: "canvas" });
  let width = 0;
  new ResizeObserver((entries) => {
    const now = Math.floor(entries[0]?.contentRect.width ?? 0);
    if (now === width || now < 40) return;
    width = now;
    element.replaceChildren(...onPage(drawing(chart, width, domain)));
    const line = chart.shape === "xy" && chart.lines.find((some) => !beside(some)), bars = element.querySelector(".bars")?.closest("svg");
    if (pick && line && bars) pickable(bars, line, pick);
  }).observe(element);
  return element;
}

export function figure(chart: Chart, domain: Domain | null = null, side = "", pick: Pick | null = null): HTMLElement {
  const title = freshId("chart");
  const details = h("details", {}, h("summary", {}, "how to read"), reading(chart).map((text) => h("p", { class: "aside" }, text)));
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("table")) details.append(numbersTable(chart));
  });
  const name = `${chart.id.replaceAll(/[^\w-]+/g, "-")}`;
  const foot = h("div", { class: "foot" },
    button("SVG", () => save(`${name}.svg`, "image/svg+xml", picture(drawing(chart, FILE_WIDTH, domain), chart, FILE_WIDTH, "light")), { class: "link" }),
    button("CSV", () => save(`${name}.csv`, "text/csv", chartCsv(chart)), { class: "link" }), details);
  return h("figure", { class: `chart ${chart.shape}`, "aria-labelledby": title, "data-chart": chart.id },
    h("figcaption", {}, h("h3", { id: title }, side ? [h("span", { class: "letter" }, side), " "] : null, term(chart.title, reading(chart).join(" "), false))), canvas(chart, domain, pick), foot);
}

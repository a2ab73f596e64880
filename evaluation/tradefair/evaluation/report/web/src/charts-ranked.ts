// Pictures of leaderboards: values by name with the range that they may lie in, and who earned more against whom.

import * as Plot from "@observablehq/plot";
import type { IntervalChart, MatrixChart, PairChart, StripChart } from "./data";
import { visible } from "./dom";
import { nearest, number } from "./format";
import { pairRows } from "./charts-numbers";
import { cut, drawn, fromZero, unit } from "./plot";

export function drawIntervals(chart: IntervalChart, width: number): SVGElement {
  const texts = chart.values.map((value) => number(value));
  const rows = chart.names.map((name, place) => {
    const value = chart.values[place] ?? 0, low = chart.lows[place] ?? null, high = chart.highs[place] ?? null;
    const fill = chart.accent === null ? "var(--c1)" : name === chart.accent ? "var(--accent)" : "var(--c5)";
    return { name: visible(name), value, low, high, fill, text: texts[place] ?? "", end: high ?? value };
  });
  const known = rows.filter((row) => row.low !== null);
  const ends = rows.flatMap((row) => [row.value, row.low ?? row.value, row.end]);
  const low = Math.min(...ends), high = Math.max(...ends), pad = (high - low || 1) * 0.04;
  const left = Math.min(width * 0.42, Math.max(...rows.map((row) => row.name.length), 3) * 6.6 + 14);
  const wide = Math.max(...texts.map((text) => text.length)) * 7 + 12;
  const tell = (row: (typeof rows)[number]) => `${row.name}: ${row.text}${row.low === null ? "" : `\n${number(row.low)} to ${number(row.high)}`}`;
  return drawn({
    width, height: rows.length * 21 + 46, marginLeft: left, marginRight: 14 + wide, marginTop: 4, marginBottom: 38,
    x: { domain: [low - pad, high + pad], label: fromZero(chart.x, [low - pad, high + pad]), labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor(width / 110)), tickFormat: number, tickSize: 4, grid: true },
    y: { domain: rows.map((row) => row.name), type: "point", label: null, tickSize: 0, padding: 0.6, tickFormat: cut(left) },
    marks: [
      Plot.ruleX(low < 0 && high > 0 ? [0] : [], { stroke: "var(--faint)" }),
      Plot.ruleY(known, { y: "name", x1: "low", x2: "high", stroke: "fill", strokeWidth: 2, strokeOpacity: 0.55 }),
      Plot.dot(rows, { x: "value", y: "name", r: 4, fill: "fill", stroke: "var(--paper)" }),
      Plot.text(rows, { x: "end", y: "name", text: "text", textAnchor: "start", dx: 9, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 }),
      Plot.tip(rows, Plot.pointer({ x: "value", y: "name", title: tell, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

// Places within a row that keep neighbours apart and come out the same each time: multiples of the golden section.
const GOLDEN = 0.6180339887498949;

export function drawStrip(chart: StripChart, width: number): SVGElement {
  const names = chart.strips.map((strip) => visible(strip.name)), tall = chart.strips.length > 30 ? 17 : 26;
  const counts = chart.strips.map((strip) => `${strip.values.length < strip.of && width > 480 ? `${number(strip.values.length)} of` : "n"} ${number(strip.of)}`);
  const left = Math.min(width * 0.36, Math.max(...names.map((name) => name.length), 3) * 6.6 + 14);
  const right = Math.max(...counts.map((count) => count.length), 3) * 6.6 + 18;
  const dots = chart.strips.flatMap((strip, row) => strip.values.map((value, place) => ({ row, value, at: row + 0.15 + 0.7 * (((place + 1) * GOLDEN) % 1) })));
  const means = chart.strips.flatMap((strip, row) => (strip.mean === null ? [] : [{ row, value: strip.mean }]));
  let low = Infinity, high = -Infinity;
  for (const { value } of [...dots, ...means]) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = [0, 1];
  const pad = (high - low || 1) * 0.03, domain: [number, number] = [low - pad, high + pad];
  const rows = chart.strips.map((_, row) => row + 0.5), short = cut(left);
  const fill = (row: number): string => (chart.accent === null ? "var(--c1)" : chart.strips[row]?.name === chart.accent ? "var(--accent)" : "var(--c5)");
  const tell = ({ row, value }: { row: number; value: number }) => `${names[row] ?? ""}: mean ${number(value)}, ${counts[row] ?? ""}`;
  return drawn({
    width, height: tall * chart.strips.length + 46, marginLeft: left, marginRight: right, marginTop: 4, marginBottom: 38,
    x: { domain, label: fromZero(chart.x, domain), labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor(width / 110)), tickFormat: number, tickSize: 4, grid: true },
    y: { domain: [0, chart.strips.length], reverse: true, axis: null },
    marks: [
      Plot.axisY(rows, { label: null, tickSize: 0, tickFormat: (_: number, place: number) => short(names[place] ?? "") }),
      Plot.axisY(rows, { anchor: "right", label: null, tickSize: 0, tickFormat: (_: number, place: number) => counts[place] ?? "" }),
      Plot.ruleX(domain[0] < 0 && domain[1] > 0 ? [0] : [], { stroke: "var(--faint)" }),
      Plot.dot(dots, { x: "value", y: "at", r: 2, fill: ({ row }: { row: number }) => fill(row), fillOpacity: 0.4 }),
      Plot.ruleX(means, { x: "value", y1: ({ row }: { row: number }) => row + 0.06, y2: ({ row }: { row: number }) => row + 0.94, stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.tip(means, Plot.pointerY({ x: "value", y: ({ row }: { row: number }) => row + 0.5, title: tell, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

export function drawMatrix(chart: MatrixChart, width: number): SVGElement {
  const names = chart.names.map(visible), longest = Math.max(...names.map((name) => name.length), 3) * 6.6 + 14;
  const left = Math.min(width * 0.34, longest), top = Math.min(190, longest + 14);
  const side = Math.max(14, Math.min(52, (width - left - 14) / Math.max(1, names.length)));
  const most = chart.cells.reduce((highest, cell) => Math.max(highest, Math.abs(cell.value)), 1e-9);
  const cells = chart.cells.map((cell) => ({
    row: names[cell.row] ?? "", column: names[cell.column] ?? "", fill: cell.value < 0 ? "var(--c2)" : "var(--c1)",
    share: 0.06 + (0.74 * Math.abs(cell.value)) / most, text: signed(cell.value), note: visible(cell.note),
  }));
  return drawn({
    width: Math.min(width, left + 14 + side * names.length), height: top + side * names.length + 10,
    marginLeft: left, marginRight: 14, marginTop: top, marginBottom: 10,
    x: { domain: names, axis: "top", label: null, tickSize: 0, tickRotate: -90, padding: 0.04, tickFormat: cut(top) },
    y: { domain: names, label: null, tickSize: 0, padding: 0.04, tickFormat: cut(left) },
    marks: [
      Plot.cell(names.map((name) => ({ name })), { x: "name", y: "name", fill: "var(--line)", fillOpacity: 0.6 }),
      Plot.cell(cells, { x: "column", y: "row", fill: "fill", fillOpacity: { value: "share", scale: null } }),
      Plot.text(side >= 34 ? cells : [], { x: "column", y: "row", text: "text", fill: "var(--ink)" }),
      Plot.tip(cells, Plot.pointer({ x: "column", y: "row", title: (cell: (typeof cells)[number]) => `${cell.row}\nagainst ${cell.column}: ${cell.text}\n${cell.note}`, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

// Where no row has room for its name, dots alone show the shape of the differences.
const MAX_NAMED = 60;

export function drawPairs(chart: PairChart, width: number): SVGElement {
  const rows = pairRows(chart), named = rows.length <= MAX_NAMED, step = named ? 17 : 5;
  const mean = chart.mean === null ? [] : [{ place: rows.length + (named ? 1 : 4), value: chart.mean, low: chart.low ?? chart.mean, high: chart.high ?? chart.mean }];
  const ends = [0, ...rows.map((row) => row.value), ...mean.flatMap((bar) => [bar.low, bar.high])];
  const low = Math.min(...ends), high = Math.max(...ends), pad = (high - low || 1) * 0.05;
  const last = (mean[0]?.place ?? rows.length - 1) + 0.7, dots = rows.map((row, place) => ({ ...row, place }));
  const left = named ? Math.min(width * 0.34, Math.max(5, ...rows.map((row) => row.name.length)) * 6.6 + 14) : 52;
  const labels = [...(named ? dots : []), ...mean.map((bar) => ({ place: bar.place, name: "mean" }))];
  const short = cut(left);
  return drawn({
    width, height: (last + 0.7) * step + 46, marginLeft: left, marginRight: 14, marginTop: 4, marginBottom: 38,
    x: { domain: [low - pad, high + pad], label: unit(chart.x), labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor(width / 110)), tickFormat: number, tickSize: 4, grid: true },
    y: { domain: [-0.7, last], reverse: true, axis: null },
    marks: [
      Plot.axisY(labels.map((label) => label.place), { label: null, tickSize: 0, tickFormat: (_: number, place: number) => short(labels[place]?.name ?? "") }),
      Plot.ruleX([0], { stroke: "var(--ink)" }),
      Plot.ruleY(dots, { y: "place", x1: 0, x2: "value", stroke: "var(--line)" }),
      Plot.dot(dots.filter((row) => row.muted), { x: "value", y: "place", r: named ? 3.5 : 2, fill: "var(--paper)", stroke: "var(--faint)", strokeWidth: 1.25 }),
      Plot.dot(dots.filter((row) => !row.muted), { x: "value", y: "place", r: named ? 4 : 2, fill: "var(--c1)", stroke: "var(--paper)", strokeWidth: 0.75 }),
      Plot.ruleY(mean, { y: "place", x1: "low", x2: "high", stroke: "var(--ink)", strokeWidth: 4, strokeOpacity: 0.35 }),
      Plot.dot(mean, { x: "value", y: "place", r: 4.5, symbol: "diamond", fill: "var(--ink)" }),
      Plot.tip(dots, Plot.pointer({ x: "value", y: "place", title: (row: (typeof dots)[number]) => `${row.name}: ${number(row.value)}${row.muted ? "\nnothing to win, whoever plays" : ""}`, fill: "var(--paper)", stroke: "var(--line)" })),
    ],
  });
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${nearest(Math.abs(value), 2).toFixed(2)}`;
}

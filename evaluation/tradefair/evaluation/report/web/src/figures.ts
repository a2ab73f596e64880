// A page of figures, what a command writes with `-o page.html`: what was found in words, pictures, tables, method.

import { figure } from "./charts";
import type { FigureRecord } from "./data";
import { foreign, h, replace } from "./dom";
import { table } from "./parts";
import { words } from "./format";

export function figurePage(app: Element, page: FigureRecord, version: string): void {
  const [first, ...rest] = page.verdict?.sentences ?? [];
  const next = page.verdict?.next ?? [];
  replace(app, h("main", { id: "main", class: "figures" },
    h("header", {}, h("p", { class: "quiet" }, "tradefair · ", foreign(page.title)), h("h1", {}, foreign(first ?? page.title)), rest.map((text) => h("p", { class: "lead" }, foreign(text)))),
    page.notes.length ? h("ul", { class: "warning" }, page.notes.map((text) => h("li", {}, foreign(text)))) : null,
    h("div", { class: "charts" }, page.charts.map((chart) => figure(chart))),
    page.tables.map((shown) => [
      h("h2", {}, shown.title),
      table(shown.columns.map((name) => words(name)), shown.rows.map((row) => row.map((cell, place) => (place === 0 ? foreign(cell) : cell))), shown.title),
    ]),
    next.length ? [h("h2", {}, "Next"), h("dl", {}, next.map((step) => [h("dt", {}, h("code", {}, step.command)), h("dd", { class: "quiet" }, step.why)]))] : null,
    page.method ? h("details", {}, h("summary", {}, "How these numbers were made"), h("p", { class: "aside" }, page.method)) : null),
    h("footer", {}, `tradefair ${version} · every number comes from the traces`));
  document.body.dataset["ready"] = "figures";
}

// What each seat under test lost, turn by turn: the course of its position, and the turns that lost most as links.

import { figure } from "./charts";
import type { LedgerPage, Opened } from "./data";
import { button, type Child, foreign, h } from "./dom";
import type { OpenEvent } from "./lead";
import { section, subject } from "./parts";

function rows(opened: Opened, { table, seqs }: LedgerPage, open: OpenEvent): Child[] {
  return table.rows.map(([place = "", ...cells], number) => {
    const seq = seqs[number] ?? null, row = seq === null ? undefined : opened.rowOf.get(seq);
    // A line about all other turns stands alone, across the table.
    if (seq === null && cells.every((cell) => !cell)) return h("tr", {}, h("td", { class: "quiet", colspan: table.columns.length }, foreign(place)));
    const link: HTMLElement = row === undefined ? foreign(place) : button(foreign(place), () => open(opened, row, link), { class: "link", "data-seq": seq ?? 0 });
    return h("tr", {}, h("th", { scope: "row" }, link), cells.map((cell, at) => h("td", { class: at === 0 ? "num" : "" }, foreign(cell))));
  });
}

function ledger(opened: Opened, page: LedgerPage, open: OpenEvent): Child {
  const { table } = page;
  return [h("div", { class: "charts wide" }, figure(page.chart)),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title },
      h("table", { class: "ledger", "data-ledger": page.seat }, h("caption", {}, foreign(table.title)),
        h("thead", {}, h("tr", {}, table.columns.map((name, at) => h("th", { scope: "col", class: at === 1 ? "num" : "" }, foreign(name))))),
        h("tbody", {}, rows(opened, page, open))))];
}

// Without a ledger a sentence says why; where nobody asked for one the section is left out.
export function ledgers(opened: Opened, open: OpenEvent): Child {
  const { ledgers: found = [], no_ledger: why = "" } = opened.page;
  if (found.length === 0) return why ? h("p", { class: "aside no-ledger" }, "What each turn lost is not known: ", foreign(why)) : null;
  return section("ledger", ["What the turns of ", subject(opened.page), " lost"], found.map((page) => ledger(opened, page, open)));
}

// What each seat under test lost, turn by turn: the course of its position, and turns as links to what was done in them.

import { figure } from "./charts";
import type { LedgerPage, Opened, Turn } from "./data";
import { button, type Child, foreign, h } from "./dom";
import { number } from "./format";
import type { OpenEvent } from "./lead";
import { section, subject } from "./parts";

export function lostText({ lost }: Turn, unit: string): string {
  return lost === 0 ? "lost nothing" : `${lost > 0 ? "lost" : "gained"} ${number(Math.abs(lost))}${unit ? ` ${unit}` : ""}`;
}

// What a turn lost, and what the best policy would have done in it next to what the seat did.
export function turnPart(opened: Opened, seq: number): HTMLElement | null {
  const { ledger, turn } = opened.turnOf.get(seq) ?? {};
  if (!ledger || !turn) return null;
  const side = (who: string, actions: string[]): Child => h("div", {}, h("dt", {}, foreign(who)), actions.map((action) => h("dd", {}, foreign(action))));
  return h("section", { class: "turn", "data-turn": turn.place }, h("h3", {}, foreign(`${turn.place.charAt(0).toUpperCase()}${turn.place.slice(1)} ${lostText(turn, ledger.unit)}`)),
    h("dl", {}, side(`${ledger.seat} did`, turn.did), turn.would.length ? side(`${ledger.best} would have done`, turn.would) : null),
    turn.would.length ? null : h("p", { class: "aside" }, "What each of these turns lost was not computed, only what all of them did."));
}

function rows(opened: Opened, { table, seqs }: LedgerPage, open: OpenEvent): Child[] {
  return table.rows.map(([place = "", ...cells], number) => {
    const seq = seqs[number] ?? null, row = opened.rowOf.get(seq ?? -1);
    // A line about all other turns stands alone, across the table.
    if (seq === null && cells.every((cell) => !cell)) return h("tr", {}, h("td", { class: "quiet", colspan: table.columns.length }, foreign(place)));
    const link: HTMLElement = row === undefined ? foreign(place) : button(foreign(place), () => open(opened, row, link), { class: "link", "data-seq": seq ?? 0 });
    return h("tr", {}, h("th", { scope: "row" }, link), cells.map((cell, at) => h("td", { class: at === 0 ? "num" : "", "data-head": at > 0 && seq !== null && cell !== "–" ? table.columns[at + 1] : null }, foreign(cell))));
  });
}

function ledger(opened: Opened, page: LedgerPage, open: OpenEvent): Child {
  const { table } = page;
  const names = page.turns.map((turn) => `${turn.place} ${lostText(turn, page.unit)}`);
  const act = (bar: number, opener: SVGElement): void => {
    const row = opened.rowOf.get(page.turns[bar]?.seqs[0] ?? -1);
    if (row !== undefined) open(opened, row, opener);
  };
  // Where no turn lost or gained anything there is no course to show.
  return [page.turns.some((turn) => turn.lost) ? h("div", { class: "charts wide" }, figure(page.chart, null, "", { names, act })) : null,
    h("div", { class: "scroll ledger-table", tabindex: 0, role: "region", "aria-label": table.title },
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

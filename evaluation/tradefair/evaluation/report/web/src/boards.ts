// Leaderboards: pictures and tables, how they are misread, what they leave out and how they were made.

import { figure } from "./charts";
import type { BoardPage, PageData } from "./data";
import { foreign, freshId, h, replace } from "./dom";
import { section, table } from "./parts";
import { words } from "./format";

export function boardsView(boards: BoardPage[], rated: string): HTMLElement {
  if (boards.length === 0) return h("p", { class: "empty" }, "Nothing here can be rated. ", rated);
  // Who leads stands first: boards below may be many.
  return h("div", { class: "boards" }, h("p", { class: "lead" }, foreign(rated)), boards.map(board));
}

function board(one: BoardPage): HTMLElement {
  return section(freshId("board"), one.title,
    one.cautions.length || one.left_out.length ? h("div", { class: "warning" }, h("ul", {}, one.cautions.map((text) => h("li", {}, text)), one.left_out.map((text) => h("li", {}, "Left out: ", foreign(text))))) : null,
    h("div", { class: "charts" }, one.charts.map((chart) => figure(chart))),
    one.tables.map((shown) => [
      h("h3", {}, shown.title),
      table(shown.columns.map((name) => words(name.replaceAll("–_", "–"))), shown.rows.map((row) => row.map((cell, place) => (place === 0 ? foreign(cell) : cell))), `${one.title}: ${shown.title}`),
    ]),
    one.tables.length ? h("details", {}, h("summary", {}, "How these numbers were made"), h("ul", {}, one.method.map((text) => h("li", {}, text)))) : null);
}

// A page of leaderboards alone. The viewer's rates the folder when it is asked, and may take a while.
export function boardsPage(app: Element, data: PageData): void {
  const content = h("div", { role: "status", "aria-live": "polite" });
  replace(app, h("main", { id: "main", class: "list" },
    h("header", { class: "top" }, data.ask ? h("a", { href: "/", class: "back" }, "All traces") : null, h("h1", {}, "Leaderboards", data.folder ? [" of ", foreign(data.folder)] : null)), content),
    h("footer", {}, `tradefair ${data.version} · every number comes from the traces`));
  const show = (boards: BoardPage[], rated: string): void => {
    replace(content, boardsView(boards, rated));
    document.body.dataset["ready"] = "leaderboards";
  };
  if (data.ask) void fetched(data.ask, content, show);
  else show(data.boards, data.rated);
}

async function fetched(address: string, content: Element, show: (boards: BoardPage[], rated: string) => void): Promise<void> {
  replace(content, h("p", { class: "lead" }, "Rating every trace of the folder; of thousands this takes minutes."));
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok) {
    replace(content, h("p", { class: "warning" }, `The leaderboards cannot be had${answer ? `: ${answer.status}` : ""}.`));
    return;
  }
  const found = (await answer.json()) as { pages: BoardPage[]; rated: string };
  show(found.pages, found.rated);
}

// What several sections are built of: headed sections, tables, definitions, folds.

import type { Episode, FigureText } from "./data";
import { type Child, foreign, h } from "./dom";
import { isNumeric, words } from "./format";
import { title } from "./terms";

const MAX_SEATS = 4;
// Cells made elsewhere write a minus as terminals do; pages have the true one.
const HYPHEN = /(^|\s)-(?=\d)/g;

export function section(id: string, name: Child, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title`, tabindex: -1 }, h("h2", { id: `${id}-title` }, name), children);
}

// A section that is folded until somebody asks for it.
export function folded(id: string, name: Child, ...children: Child[]): HTMLElement {
  return h("details", { id, class: "part", tabindex: -1 }, h("summary", {}, h("h2", {}, name)), h("div", { class: "inside" }, children));
}

// Built when it is opened: most are not.
export function unfolded(name: Child, build: () => Child, props: Record<string, string> = { class: "block" }): HTMLElement {
  const details = h("details", props, h("summary", {}, name));
  details.addEventListener("toggle", () => details.children.length === 1 && details.append(h("div", {}, build())));
  return details;
}

// `own` are the rows of the seat under test; heads are titles of fields or of the page's columns.
export function table(head: string[], rows: Child[][], label: string, names = 1, figures: Record<string, FigureText> = {}, own: boolean[] = []): HTMLElement {
  const numeric = head.map((_, place) => place >= names && rows.every((row) => typeof row[place] !== "string" || isNumeric(row[place])));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((name, place) => h("th", { scope: "col", class: numeric[place] ? "num" : "" }, name ? title(name, figures, label) : "")))),
      h("tbody", {}, rows.map((row, number) => h("tr", { class: own[number] ? "own" : "" }, row.map((cell, place) =>
        place === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: numeric[place] ? "num" : "" }, numeric[place] && typeof cell === "string" ? cell.replace(HYPHEN, "$1−") : cell)))))));
}

export function pairs(rows: [Child, Child][]): HTMLElement {
  return h("dl", { class: "grid" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// A failure mode as people say it; its id stands in its explanation.
export function modeName(id: string): string {
  const name = words(id.replace(/^[^.]+\./, ""));
  return name.charAt(0).toUpperCase() + name.slice(1);
}

// Of many seats the first few; the others stand in the title.
export function seatsText(seats: string[]): HTMLElement {
  const more = seats.length > MAX_SEATS ? ` and ${seats.length - MAX_SEATS} more` : "";
  return h("span", more ? { title: seats.join(", ") } : {}, foreign(seats.slice(0, MAX_SEATS).join(", ")), more);
}

// A rule of a map by the name that its writer knows; a mode as people say it.
export function ruleName(id: string): string {
  return id.startsWith("map.") ? id : modeName(id);
}

// Who the page is about, for headings: the seats under test.
export function subject(page: Episode): Child {
  const seats = page.verdict.seats.map((seat) => seat.seat);
  return seats.length ? seatsText(seats) : "the seats";
}

// A sentence in which names stand between backticks, as a verdict's text has them.
export function prose(text: string): Child {
  return text.split("`").map((part, place, all) => (place % 2 && place < all.length - 1 ? h("code", {}, foreign(part)) : foreign(place % 2 ? `\`${part}` : part)));
}

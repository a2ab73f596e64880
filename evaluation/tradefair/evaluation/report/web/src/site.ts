// The first page of a site: verdicts of the newest series, boards, what was left out, and the list of all episodes.

import type { PageData } from "./data";
import { type Child, foreign, h } from "./dom";
import { plural } from "./format";
import { listView } from "./listing";
import { prose } from "./parts";

export interface SiteIndex {
  title: string; newest: [string, string, string][]; boards: [string, string, string][]; pairs: [string, string][]; parts: [string, string][]; files: [string, string][]; left_out: [string, string][];
}

export function siteView(data: PageData, site: SiteIndex): HTMLElement {
  const part = (id: string, title: string, ...content: Child[]): HTMLElement => h("section", { id, tabindex: -1 }, h("h2", {}, title), content);
  const links = (pairs: [string, string][]): Child => h("ul", { class: "links" }, pairs.map(([name, address]) => h("li", {}, h("a", { href: address }, foreign(name)))));
  const folded = (title: string, ...content: Child[]): HTMLElement => h("details", {}, h("summary", {}, title), content);
  return h("main", { id: "main", class: "list site" }, h("header", { class: "top" }, h("h1", {}, foreign(site.title)), h("p", { class: "lead" }, `${plural(data.listing?.total ?? 0, "episode")}, each re-executed and reproduced to the last byte. Which model answered is what no re-execution can prove. `, h("a", { href: "figures.html" }, "What the figures are"))),
    site.left_out.length ? h("div", { class: "warning left-out", role: "note" }, h("p", {}, h("b", {}, `${plural(site.left_out.length, "trace")} not reproduced or not finished, listed here and ranked nowhere:`)), h("ul", {}, site.left_out.map(([path, reason]) => h("li", {}, foreign(path), ": ", foreign(reason))))) : null,
    site.newest.length ? part("newest", "Newest", site.newest.map(([what, text, address]) => h("article", {}, h("h3", {}, h("a", { href: address }, foreign(what))), h("p", {}, prose(text))))) : null,
    site.boards.length ? part("boards", "Boards", h("ul", { class: "links" }, site.boards.map(([name, line, address]) => h("li", {}, h("a", { href: address }, foreign(name)), line ? h("span", { class: "quiet" }, " · ", foreign(line)) : null)))) : null,
    site.pairs.length ? part("pairs", "Comparisons on the same luck", links(site.pairs)) : null,
    part("episodes", "Episodes", listView(data), site.parts.length ? h("p", {}, "Pages: ", site.parts.map(([name, address]) => [h("a", { href: address }, name), " "])) : null),
    site.files.length ? folded(`Numbers and pictures (${site.files.length} files)`, links(site.files)) : null);
}

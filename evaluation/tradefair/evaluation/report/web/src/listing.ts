// The viewer's first page: every trace of the folder, filtered and sorted; what has to be computed comes bit by bit.

import type { Listed, PageData } from "./data";
import { button, foreign, h, replace } from "./dom";
import { bytes, endWords, number, plural, words } from "./format";

interface Computed { outcome: string; value: number | null; findings: number | null; cost: number | null; chain: string; problem: string | null }
type Row = Listed & { computed?: Computed };
type Key = "market" | "scenario" | "seed" | "labels" | "created" | "end" | "events" | "value" | "findings" | "chain";

const BATCH = 8, SHOWN = 300;
const HEADS: [Key, string, boolean][] = [
  ["scenario", "scenario", false], ["seed", "seed", true], ["labels", "agents", false], ["end", "ended", false], ["events", "events", true],
  ["value", "outcome", true], ["findings", "findings", true], ["chain", "chain", false], ["created", "created", false],
];

function sortValue(row: Row, key: Key): string | number | null {
  if (key === "value" || key === "findings" || key === "chain") return row.computed?.[key] ?? null;
  return row[key];
}

export function listView(data: PageData): HTMLElement {
  const rows: Row[] = data.traces;
  let sort: { key: Key; down: boolean } = { key: "created", down: true };
  let shown: Row[] = [], limit = SHOWN;
  const chosen = new Set<string>();
  const count = h("p", { class: "count", "aria-live": "polite", role: "status" });
  const text = h("input", { type: "search", id: "find", placeholder: "scenario, agent, seed, file", spellcheck: "false" });
  const market = h("select", { id: "market" }, h("option", { value: "" }, "all markets"), [...new Set(rows.map((row) => row.market))].filter(Boolean).sort().map((name) => h("option", { value: name }, words(name))));
  const state = h("select", { id: "state" }, ["any state", "finished", "running or stopped", "with findings", "damaged"].map((name, place) => h("option", { value: place || "" }, name)));
  const head = h("tr", {}), body = h("tbody", {}), more = h("p", {});
  const compare = h("a", { class: "act", "aria-disabled": "true", role: "link" }, "Compare two");

  const choose = (id: string, on: boolean): void => {
    if (on) chosen.add(id);
    else chosen.delete(id);
    const two = [...chosen];
    compare.textContent = two.length === 2 ? "Compare the two" : `Compare two (${two.length} chosen)`;
    compare.setAttribute("aria-disabled", String(two.length !== 2));
    if (two.length === 2) compare.setAttribute("href", `/compare/${two[0]}/${two[1]}`);
    else compare.removeAttribute("href");
  };
  const line = (row: Row): HTMLElement => {
    const done = row.computed;
    const box = h("input", { type: "checkbox", "aria-label": `Choose ${row.path}`, onchange: () => choose(row.id, box.checked) });
    box.checked = chosen.has(row.id);
    box.disabled = row.problem !== null;
    if (row.problem !== null)
      return h("tr", { class: "damaged" }, h("td", {}, box), h("th", { scope: "row", colspan: 2 }, foreign(row.path)), h("td", { colspan: 7 }, h("b", {}, "cannot be read"), " ", foreign(row.problem)));
    return h("tr", {}, h("td", {}, box),
      h("th", { scope: "row" }, h("a", { href: `/trace/${row.id}` }, foreign(row.scenario || row.path)), h("span", { class: "path" }, foreign(row.path))),
      h("td", { class: "num" }, row.seed === null ? "–" : String(row.seed)), h("td", {}, foreign(row.labels)),
      h("td", {}, row.open ? h("span", { class: "tag live" }, "open") : endWords(row.end)), h("td", { class: "num" }, number(row.events)),
      h("td", { class: "num", title: done?.outcome ?? "" }, done ? number(done.value) : "…"), h("td", { class: "num" }, done ? number(done.findings) : "…"),
      h("td", {}, done ? done.chain : "…"), h("td", { class: "num when" }, row.created.replace("T", " ").slice(0, 16)));
  };
  const drawHead = (): void => replace(head, h("th", {}, h("span", { class: "hidden" }, "choose")), HEADS.map(([key, name, numeric]) =>
    h("th", { scope: "col", class: numeric ? "num" : "", "aria-sort": sort.key === key ? (sort.down ? "descending" : "ascending") : "none" },
      button([name, h("span", { class: "arrow", "aria-hidden": "true" }, sort.key === key ? (sort.down ? "↓" : "↑") : "")], () => {
        sort = { key, down: sort.key === key ? !sort.down : numeric || key === "created" };
        drawHead();
        draw();
        (head.querySelector(`[data-sort="${key}"]`) as HTMLElement | null)?.focus();
      }, { class: "sort", "data-sort": key }))));
  const fits = (row: Row): boolean => {
    const wanted = text.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const said = `${row.path} ${row.scenario} ${row.labels} ${row.seed}`.toLowerCase();
    const found = [true, !row.open && row.problem === null, row.open, (row.computed?.findings ?? 0) > 0, row.problem !== null];
    return (!market.value || row.market === market.value) && (found[Number(state.value)] ?? true) && wanted.every((word) => said.includes(word));
  };
  const draw = (): void => {
    const order = (a: Row, b: Row): number => {
      const [x, y] = [sortValue(a, sort.key), sortValue(b, sort.key)];
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      const way = x < y ? -1 : x > y ? 1 : 0;
      return sort.down ? -way : way;
    };
    shown = rows.filter(fits).sort((a, b) => order(a, b) || (a.path < b.path ? -1 : 1));
    count.textContent = `${number(shown.length)} of ${plural(rows.length, "trace")}`;
    replace(body, shown.slice(0, limit).map(line));
    replace(more, shown.length > limit ? button(`Show all ${number(shown.length)}`, () => {
      limit = Infinity;
      draw();
    }) : null);
  };
  for (const control of [text, market, state]) control.addEventListener("input", draw);
  void computeAll(rows, () => shown, draw);
  drawHead();
  draw();
  const total = rows.reduce((sum, row) => sum + row.bytes, 0);
  return h("main", { id: "main", class: "list" }, h("header", { class: "top" }, h("h1", {}, foreign(data.folder)), h("p", { class: "lead" }, `${plural(rows.length, "trace")}, ${bytes(total)}`, rows.length ? [" · ", h("a", { href: "/leaderboards" }, "Leaderboards")] : null)),
    h("div", { class: "filter", role: "search", "aria-label": "Filter traces" }, h("div", { class: "fields" },
      h("div", { class: "field" }, h("label", { for: "find" }, "Text"), text), h("div", { class: "field" }, h("label", { for: "market" }, "Market"), market), h("div", { class: "field" }, h("label", { for: "state" }, "State"), state), compare), count),
    rows.length ? h("div", { class: "scroll" }, h("table", { class: "traces" }, h("thead", {}, head), body)) : h("p", { class: "empty" }, "No trace lies in this folder (*.trace, *.trace.jsonl)."), more);
}

// Outcomes are computed by the server a few at a time, those in view first; a hidden page asks for none.
async function computeAll(rows: Row[], shown: () => Row[], draw: () => void): Promise<void> {
  const waiting = (): Row[] => [...shown(), ...rows].filter((row) => row.computed === undefined && row.problem === null);
  let drawn = performance.now();
  for (let batch = waiting(); batch.length > 0; batch = waiting()) {
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
    const some = [...new Set(batch)].slice(0, BATCH);
    const answer = await fetch(`/outcomes?ids=${some.map((row) => row.id).join(",")}`).catch(() => null);
    if (!answer?.ok) return;
    const found = (await answer.json()) as Record<string, Computed>;
    for (const row of some) row.computed = found[row.id] ?? { outcome: "", value: null, findings: null, cost: null, chain: "–", problem: "gone" };
    if (performance.now() - drawn > 400 || waiting().length === 0) {
      draw();
      drawn = performance.now();
    }
  }
}

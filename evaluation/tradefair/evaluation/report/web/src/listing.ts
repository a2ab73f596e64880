// The viewer's first page: traces by filter and column, answered by the server; verdicts come bit by bit.

import type { PageData } from "./data";
import { button, type Child, foreign, h, replace } from "./dom";
import { bytes, dollars, number, plural } from "./format";
import { prose } from "./parts";
import { ordered, parsed } from "./query";

interface Judged {
  score: number | null; metric: string; unit: string; reference: string; better: number | null; raised: number | null; others: number | null;
  modes: string[]; calls: number | null; model_calls: number | null; cost_usd_micro: number | null; check: string; status: string; text: string; problem: string | null; tools: string[];
}
export interface Row {
  id: string; path: string; problem: string | null; market: string; scenario: string; seed: number | null; seats: string[]; players: string[];
  created: string; changed: string; end: string | null; ended: string; events: number | null; kind: string; state: "running" | "stopped" | "ended" | "open" | "damaged"; judged: Judged | null;
  source: string; run: string; passed: "passed" | "failed" | "";
}
export interface Listing {
  rows: Row[]; fitting: number; total: number; total_bytes: number; references: number; waiting: string[]; unjudged: number;
  skipped: [string, string][]; markets: string[]; keys: string[]; problem: string;
}

// What was imported or recorded has neither luck nor rivals, and a result of its source's.
const OF_RUNS: typeof HEADS = [
  ["run", "run", false, "the run by its source's name"], ["result", "result", false, "what the source says of it"],
  ["findings", "findings", true, "rules and modes that found something"], ["rules", "rules", false, "those rules and modes by name"],
  ["calls", "calls", true, "tool calls"], ["cost", "cost", true, "what the model calls cost, where the source says it"],
  ["source", "source", false, "the format that was read"], ["check", "check", false, "foreign: the chain holds, and there are no rules to play it again"],
  ["state", "state", false, "running: it is being recorded"], ["when", "when", false, "when it began"],
];

const BATCH = 8, MOST = 4, SHOWN = 300, EVERY_MS = 1_500;
const HEADS: [string, string, boolean, string][] = [
  ["scenario", "scenario", false, "market and preset"], ["seed", "seed", true, "what fixes the luck of the market"],
  ["score", "score", true, "the first figure of the market for the seats under test; of several seats the mean"],
  ["findings", "findings", true, "failure modes found in the seats under test; in brackets those of other seats: 0 (1) is none of its own and one of an opponent"],
  ["better", "beside best reference", true, "score minus that of the best reference in the same seat on the same seed that knows no hidden facts"],
  ["by", "played by", false, "what played the seats under test"], ["check", "check", false, "what re-execution of all events gave"],
  ["state", "state", false, "running: a process writes it; stopped: none does and nothing is sealed; else how it ended"],
  ["seat", "seat", false, "the seats under test"], ["when", "when", false, "when the episode began"],
  ["calls", "calls", true, "tool calls of the seats under test"], ["cost", "cost", true, "what the model calls cost"],
];
// On a phone what a trace came to stands before what it is: there is room for four columns.
const FIRST = ["score", "findings"], NARROW = matchMedia("(max-width: 860px)");

function heads(rows: Row[]): typeof HEADS {
  const runs = rows.filter((row) => row.source).length;
  if (runs && runs === rows.filter((row) => row.problem === null).length) return NARROW.matches ? [...OF_RUNS].sort((a, b) => Number(b[0] === "findings") - Number(a[0] === "findings")) : OF_RUNS;
  const all = runs ? HEADS.flatMap((head) => (head[0] === "findings" ? [OF_RUNS[1] ?? head, head] : [head])) : HEADS;
  return NARROW.matches ? [...all].sort((a, b) => Number(FIRST.includes(b[0])) - Number(FIRST.includes(a[0]))) : HEADS;
}

export function listView(data: PageData): HTMLElement {
  const asked = new URLSearchParams(location.search), opened = new Set<string>(), chosen = new Map<string, Row>();
  // A site has no server: its page carries all rows and filters them itself.
  const all = data.site ? (data.listing as Listing).rows : null;
  let listing = data.listing as Listing, sort = asked.get("sort") ?? "when", down = asked.get("down") !== "0", limit = SHOWN, turn = 0, last = "";
  const text = h("input", { type: "search", id: "find", value: asked.get("q") ?? "", maxlength: 1_000, spellcheck: "false", autocomplete: "off", placeholder: 'by:react score>100 findings>=1 seed:1..20 -state:stopped "free text"', title: `Keys: ${listing.keys.join(", ")}. A minus negates, or stands between alternatives.` });
  const count = h("p", { class: "count", "aria-live": "polite", role: "status" }), problem = h("p", { class: "warning", role: "alert", hidden: true });
  const head = h("tr", {}), body = h("tbody", {}), more = h("p", {}), below = h("div", { class: "aside" }), chips = h("div", { class: "chips", role: "group", "aria-label": "Frequent filters" });
  const compare = h("a", { class: "act", "aria-disabled": "true", role: "link" }, "Compare");

  const query = (): URLSearchParams => new URLSearchParams({ ...(text.value.trim() ? { q: text.value.trim() } : {}), sort, down: down ? "1" : "0" });
  const ask = async (): Promise<void> => {
    const mine = ++turn, wanted = query();
    history.replaceState(null, "", `?${wanted}`);
    if (all) {
      const { fits, problem } = parsed(text.value), rows = ordered(all.filter(fits), sort, down);
      listing = { ...listing, rows: rows.slice(0, limit), fitting: rows.length, problem };
      draw();
      return;
    }
    wanted.set("limit", String(limit));
    const answer = await fetch(`/rows.json?${wanted}`).catch(() => null);
    if (!answer?.ok || mine !== turn) return;
    const said = await answer.text();
    // The same answer again is the rule while nothing plays: the table is left alone.
    if (said === last) return;
    last = said;
    const known = new Map(listing.rows.map((row) => [row.id, row.judged]));
    listing = JSON.parse(said) as Listing;
    // What is judged anew shows its older verdict meanwhile.
    for (const row of listing.rows) row.judged ??= known.get(row.id) ?? null;
    draw();
  };
  const choose = (row: Row, on: boolean): void => {
    if (on) chosen.set(row.id, row);
    else chosen.delete(row.id);
    drawCompare();
  };
  const drawCompare = (): void => {
    const rows = [...chosen.values()], ids = rows.map((row) => row.id), labels = new Set(rows.map((row) => row.players.join(", ")));
    const address = ids.length === 2 ? `/compare/${ids[0]}/${ids[1]}` : ids.length > 2 && labels.size === 2 ? `/versus?ids=${ids.join(",")}` : "";
    compare.textContent = ids.length === 2 ? "Compare the two" : ids.length < 2 ? "Compare" : address ? `Compare the two players of ${ids.length}` : `${ids.length} chosen: two players compare`;
    compare.setAttribute("aria-disabled", String(!address));
    if (address) compare.setAttribute("href", address);
    else compare.removeAttribute("href");
  };
  const drawHead = (metric: string): void => replace(head, h("th", { colspan: 2 }, h("span", { class: "hidden" }, "choose and open")), heads(listing.rows).map(([key, name, numeric, title]) =>
    h("th", { scope: "col", class: numeric ? "num" : key, "aria-sort": sort === key ? (down ? "descending" : "ascending") : "none" },
      button([key === "score" && metric ? metric : name, h("span", { class: "arrow", "aria-hidden": "true" }, sort === key ? (down ? "↓" : "↑") : "")], () => {
        down = sort === key ? !down : numeric || key === "when";
        sort = key;
        void ask().then(() => (head.querySelector(`[data-sort="${key}"]`) as HTMLElement | null)?.focus());
      }, { class: "sort", "data-sort": key, title }))));
  const draw = (): void => {
    // One metric: the header names it once. Several: each cell names its own unit.
    const metrics = new Set(listing.rows.flatMap((row) => (row.judged?.score != null ? [`${row.judged.metric}, ${row.judged.unit}`] : [])));
    drawHead(metrics.size === 1 ? ([...metrics][0] ?? "") : "");
    const focused = document.activeElement?.getAttribute("data-focus");
    const open = (id: string): void => {
      if (!opened.delete(id)) opened.add(id);
      draw();
    };
    const shown = heads(listing.rows);
    replace(body, listing.rows.map((row) => [line(row, all ? `episode/${row.id}.html` : `/trace/${row.id}`, metrics.size > 1, chosen.has(row.id), opened.has(row.id), choose, open, shown), opened.has(row.id) ? verdictLine(row) : null]));
    if (focused) (document.querySelector(`[data-focus="${CSS.escape(focused)}"]`) as HTMLElement | null)?.focus();
    count.textContent = `${number(listing.fitting)} of ${plural(listing.total, "trace")}${listing.unjudged ? ` · ${number(listing.unjudged)} being evaluated` : ""}`;
    problem.textContent = listing.problem;
    problem.hidden = !listing.problem;
    replace(more, listing.fitting > listing.rows.length ? button(`Show all ${number(listing.fitting)}`, () => {
      limit = 100_000;
      void ask();
    }) : null);
    replace(below, listing.references ? h("p", {}, `${plural(listing.references, "reference")} of these episodes not listed: `, h("a", { href: "?q=kind:reference" }, "kind:reference"), " shows them.") : null,
      listing.skipped.map(([path, reason]) => h("p", {}, "Not opened: ", foreign(path), ` (${reason}).`)));
    const runs = listing.rows.length > 0 && listing.rows.every((row) => row.source);
    if (runs) text.placeholder = 'passed:false rule:loop tool:refund findings>=1 "free text"';
    const words = [...(listing.markets.length > 1 ? listing.markets.map((name) => `market:${name}`) : []), "findings>=1", ...(runs ? [] : ["better<0"]), ...(listing.rows.some((row) => row.source) ? ["passed:false", "passed:true", ...frequent(listing.rows)] : []), ...(all ? [] : ["state:running", "state:stopped", ...(runs ? [] : ["-check:reproduced"])])];
    const set = new Set(text.value.split(/\s+/).filter(Boolean));
    replace(chips, words.map((word) => button(word, () => {
      if (!set.delete(word)) set.add(word);
      text.value = [...set].join(" ");
      void ask().then(draw);
    }, { class: "chip", "aria-pressed": String(set.has(word)), "data-focus": word })));
  };
  let typing = 0;
  text.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(() => void ask(), 150);
  });
  NARROW.addEventListener("change", () => draw());
  draw();
  drawCompare();
  const box = h("div", { class: "filter", role: "search", "aria-label": "Filter traces" }, h("div", { class: "fields" }, h("div", { class: "field wide" }, h("label", { for: "find" }, "Filter"), text), all ? null : compare), problem, chips, count);
  const rows = h("div", { class: "scroll" }, h("table", { class: "traces" }, h("thead", {}, head), body));
  if (all) {
    void ask();
    return h("div", {}, box, rows, more);
  }
  if (listing.total) void keepUp(() => listing, draw, ask);
  return h("main", { id: "main", class: "list" }, h("header", { class: "top" }, h("h1", {}, foreign(data.folder)), h("p", { class: "lead" }, `${plural(listing.total, "trace")}, ${bytes(listing.total_bytes)}`, listing.total ? [" · ", h("a", { href: "/leaderboards" }, "Leaderboards")] : null)),
    box, listing.total ? rows : h("p", { class: "empty" }, "No trace lies in this folder (*.trace, *.trace.jsonl)."), more, below);
}

function line(row: Row, address: string, units: boolean, picked: boolean, open: boolean, choose: (row: Row, on: boolean) => void, toggle: (id: string) => void, shown: typeof HEADS): HTMLElement {
  const box = h("input", { type: "checkbox", "aria-label": `Choose ${row.path}`, "data-focus": `box ${row.id}`, onchange: () => choose(row, box.checked) });
  box.checked = picked;
  if (row.problem !== null)
    return h("tr", { class: "damaged" }, h("td", { colspan: 2 }), h("td", {}, h("span", { class: "status bad" }, "damaged")), h("td", { colspan: HEADS.length - 1, title: row.problem }, foreign(row.path), " cannot be read: ", foreign(row.problem)));
  const found = row.judged, waits = found ? "–" : "…", figure = (value: number | null | undefined): string => (value == null ? waits : number(Math.round(value * 100) / 100));
  const cost = !found ? waits : found.cost_usd_micro === null ? "unknown" : found.cost_usd_micro ? dollars(found.cost_usd_micro) : "none";
  const arrow = button(open ? "▾" : "▸", () => toggle(row.id), { class: "open", "aria-expanded": String(open), "aria-label": `Verdict on ${row.path}`, "data-focus": `open ${row.id}` });
  const numeric = (content: Child, title = ""): HTMLElement => h("td", { class: "num", title: title || null }, content);
  const cells: Record<string, HTMLElement> = {
    state: h("td", {}, h("span", { class: `status ${tone(row)}` }, row.state === "ended" ? row.ended || "ended" : row.state)), when: h("td", { class: "when" }, (row.created || row.changed).replace("T", " ").slice(5, 16)),
    scenario: h("th", { scope: "row", title: row.path }, h("a", { href: address }, foreign(row.scenario || row.path))), seed: numeric(row.seed === null ? "–" : String(row.seed)),
    seat: h("td", { title: row.seats.join(", ") }, foreign(row.seats.join(", ") || "none")), by: h("td", { class: "by", title: row.players.join(", ") }, foreign(row.players.join(", "))),
    score: numeric([figure(found?.score), units && found?.score != null ? h("span", { class: "quiet" }, ` ${found.unit}`) : null], found ? `${found.metric}, ${found.unit}` : ""),
    better: numeric(found?.better == null ? waits : [`${found.better > 0 ? "+" : found.better === 0 ? "±" : ""}${figure(found.better)} `, h("span", { class: "quiet" }, foreign(found.reference))]),
    findings: numeric(found ? [figure(found.raised), found.others ? h("span", { class: "quiet", title: `${plural(found.others, "finding")} of other seats` }, ` (${number(found.others)})`) : null] : waits, found?.modes.join(", ") ?? ""),
    calls: numeric(figure(found?.calls), found?.model_calls ? plural(found.model_calls, "model call") : ""), cost: numeric(cost),
    run: h("th", { scope: "row", title: row.path }, h("a", { href: address }, foreign(row.run || row.path))), source: h("td", {}, foreign(row.source)), rules: h("td", { class: "by" }, foreign(found?.modes.join(", ") ?? waits)),
    result: h("td", {}, row.passed ? h("span", { class: `status ${row.passed === "passed" ? "good" : "bad"}` }, row.passed) : h("span", { class: "quiet" }, row.source ? "not stated" : "–")),
    check: h("td", {}, found ? h("span", { class: `status ${found.check === "reproduced" ? "good" : found.check === "foreign" ? "" : "bad"}` }, found.check) : waits),
  };
  return h("tr", { title: found?.text || row.path }, h("td", {}, address.startsWith("/") ? box : null), h("td", {}, arrow), shown.map(([key]) => cells[key]));
}

// The rules and tools that most of the shown runs have: what a reader would filter by.
function frequent(rows: Row[]): string[] {
  const most = (key: string, read: (row: Row) => string[]): string[] => {
    const counts = new Map<string, number>();
    for (const name of rows.flatMap(read)) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MOST).map(([name]) => `${key}:${/[\s"]/.test(name) ? `"${name.replaceAll('"', "")}"` : name}`);
  };
  return [...most("rule", (row) => row.judged?.modes ?? []), ...most("tool", (row) => row.judged?.tools ?? [])];
}

function tone(row: Row): string {
  return row.state === "running" ? "good" : row.state === "stopped" ? "bad" : "";
}

function verdictLine(row: Row): HTMLElement {
  const resume = row.state === "stopped" ? h("p", {}, "Go on: ", h("code", {}, "tradefair play --resume ", foreign(row.path))) : null;
  return h("tr", { class: "said" }, h("td", { colspan: 2 }), h("td", { colspan: HEADS.length }, h("p", {}, prose(row.judged ? row.judged.text || row.judged.problem || "No verdict." : "Being evaluated …")), h("p", { class: "path" }, foreign(row.path)), resume));
}

// Verdicts are made by the server a few at a time, those in view first; then the folder is looked at again and again.
async function keepUp(now: () => Listing, draw: () => void, ask: () => Promise<void>): Promise<void> {
  let drawn = 0, waiting = [...now().waiting];
  for (;;) {
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
    const some = waiting.splice(0, BATCH);
    if (some.length) {
      const answer = await fetch(`/judged.json?ids=${some.join(",")}`).catch(() => null);
      const found = answer?.ok ? ((await answer.json()) as Record<string, Row>) : {};
      for (const row of now().rows) row.judged = found[row.id]?.judged ?? row.judged;
      if (performance.now() - drawn > 400 || waiting.length === 0) {
        draw();
        drawn = performance.now();
      }
      if (waiting.length) continue;
    }
    const began = performance.now();
    await ask();
    waiting = [...now().waiting];
    // A folder of many thousand files takes its time: nine tenths of it are left to others.
    if (!waiting.length) await new Promise((resolve) => setTimeout(resolve, Math.max(EVERY_MS, 10 * (performance.now() - began))));
  }
}

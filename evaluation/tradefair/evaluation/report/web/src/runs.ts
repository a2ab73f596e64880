// Several foreign runs: how often each rule speaks in failed and in passed runs, then the runs, those with findings first.

import type { ForeignRun, Opened, PageData } from "./data";
import { button, type Child, foreign, h, replace } from "./dom";
import { number, plural } from "./format";
import { ruleName, section, table } from "./parts";

const RESULTS = { true: "passed", false: "failed", null: "not stated" };

export function allForeign(episodes: Opened[]): boolean {
  return episodes.length > 1 && episodes.every((opened) => opened.page.verdict.foreign);
}

export function result(passed: boolean | null): HTMLElement {
  return h("span", { class: passed === null ? "quiet" : `outcome ${passed ? "good" : "bad"}` }, RESULTS[String(passed) as keyof typeof RESULTS]);
}

export function runsView(data: PageData, episodes: Opened[], open: (place: number) => void): HTMLElement {
  const rows = episodes.flatMap((opened, place) => (opened.page.verdict.foreign ? [{ run: opened.page.verdict.foreign, place }] : []));
  const fewest = (run: ForeignRun): number => (run.passed === false ? 0 : run.passed === null ? 1 : 2);
  rows.sort((a, b) => b.run.raised - a.run.raised || fewest(a.run) - fewest(b.run) || a.place - b.place);
  const body = h("tbody", {}), count = h("p", { class: "count", role: "status", "aria-live": "polite" });
  const select = (id: string, name: string, options: string[]): HTMLSelectElement => h("select", { id, "aria-label": name, onchange: () => draw() }, [`any ${name}`, ...options].map((value, place) => h("option", { value: place ? value : "" }, value)));
  const used = (read: (run: ForeignRun) => string[]): string[] => [...new Set(rows.flatMap(({ run }) => read(run)))].sort();
  const passed = select("of-result", "result", used((run) => [RESULTS[String(run.passed) as keyof typeof RESULTS]]));
  const rule = select("of-rule", "rule", used((run) => run.rules)), tool = select("of-tool", "tool", used((run) => run.tools));
  const draw = (): void => {
    const fitting = rows.filter(({ run }) => (!passed.value || RESULTS[String(run.passed) as keyof typeof RESULTS] === passed.value) && (!rule.value || run.rules.includes(rule.value)) && (!tool.value || run.tools.includes(tool.value)));
    count.textContent = `${number(fitting.length)} of ${plural(rows.length, "run")}`;
    replace(body, fitting.map(({ run, place }) => h("tr", { "data-run": run.run },
      h("th", { scope: "row" }, button(foreign(run.run), () => open(place), { class: "link" })), h("td", {}, result(run.passed)), h("td", { class: "num" }, number(run.raised)),
      h("td", { class: "what" }, first(run)), h("td", { class: "num" }, number(run.steps)), h("td", { class: "num" }, number(run.calls)), h("td", { class: "num" }, number(run.refused)))));
  };
  draw();
  const heads: [string, string][] = [["run", ""], ["result", ""], ["findings", "num"], ["first finding", ""], ["steps", "num"], ["calls", "num"], ["refused", "num"]];
  return h("div", { class: "runs" },
    data.rates ? section("rates", "Findings in failed and in passed runs", table(data.rates.columns, data.rates.rows, data.rates.title, 1), data.rates_note ? h("p", { class: "aside" }, foreign(data.rates_note)) : null) : null,
    section("runs", "Runs", h("div", { class: "find" }, passed, rule, tool, count),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, h("table", { class: "of-runs" }, h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))), body))));
}

function first(run: ForeignRun): Child {
  const [found] = run.found;
  if (!found) return h("span", { class: "quiet" }, "–");
  return [h("span", { class: "num quiet" }, found.step === null ? `#${found.seq} ` : `step ${number(found.step)} `), h("b", {}, ruleName(found.rule)), " ", foreign(found.because)];
}

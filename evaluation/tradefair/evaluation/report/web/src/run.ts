// The page of a run that no rules have made: what was said and called comes first, findings stand at their steps.

import type { Episode, Opened, Verification } from "./data";
import { button, type Child, foreign, h, replace, visible } from "./dom";
import type { View } from "./episode";
import { findings } from "./findings";
import { bytes, dollars, number, plural, seconds, words } from "./format";
import { textView } from "./json";
import { folded, pairs, section, table, unfolded } from "./parts";
import { StepBar } from "./stepbar";
import { Steps } from "./steps";
import { title } from "./terms";

// The badge says it, and what it says of a viewer's page comes later.
const CHECK = /, (?:chain holds; not re-executable: no rules|not checked)\.$/;
const ALL = "every step", CALLS = "calls", REFUSED = "refused calls", FOUND = "steps with findings";

export function runView(opened: Opened): View {
  const roles = new Map(opened.page.seats.map((seat) => [seat.id, seat.role]));
  const steps = new Steps(opened, roles), bar = new StepBar(opened, steps);
  const top = h("div", {}), below = h("div", {}), count = h("span", { class: "quiet num", role: "status", "aria-live": "polite" });
  const text = h("input", { type: "search", id: "find-step", placeholder: "in messages, arguments and answers", spellcheck: "false", maxlength: 200 });
  const choice = h("select", { id: "which-steps", onchange: () => void choose() }, [ALL, CALLS, REFUSED, FOUND, ...tools(opened).map((tool) => `calls of ${tool}`)].map((name) => h("option", { value: name }, name)));
  let turn = 0, kept = 0;
  const fits = (row: number): boolean => {
    const event = opened.word("event", row), call = event === "tool_called";
    if (!call && event !== "message") return false;
    if (choice.value === CALLS) return call;
    if (choice.value === REFUSED) return call && opened.word("status", row) !== "ok";
    if (choice.value === FOUND) return opened.citedBy.has(opened.events.seq[row] ?? 0);
    return choice.value === ALL || (call && choice.value === `calls of ${opened.word("tool", row)}`);
  };
  const fitting = (from: number): number[] => Array.from({ length: opened.events.seq.length - from }, (_, place) => from + place).filter(fits);
  const choose = async (): Promise<void> => {
    const mine = ++turn, wanted = visible(text.value.trim()).toLowerCase();
    let rows = fitting(0);
    const all = rows.length;
    if (wanted) {
      const found: number[] = [];
      for (const row of rows) {
        const texts = await opened.bodies.row(row);
        if (mine !== turn) return;
        if ([opened.word("tool", row), ...texts.map((part) => part.text ?? "")].some((part) => part.toLowerCase().includes(wanted))) found.push(row);
      }
      rows = found;
    }
    kept = opened.events.seq.length;
    steps.show(rows, wanted);
    bar.draw();
    count.textContent = wanted || choice.value !== ALL ? `${number(rows.length)} of ${number(wanted ? all : fitsAll(opened))}` : "";
  };
  let waiting = 0;
  text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => void choose(), 200);
  });
  const go = async (row: number): Promise<void> => {
    if (await steps.go(row)) return;
    choice.value = ALL;
    text.value = "";
    await choose();
    await steps.go(row);
  };
  const draw = (page: Episode): void => {
    opened.renew(page);
    const check = top.querySelector<HTMLElement>(".badge") ?? chain(page.verification);
    replace(top, lead(opened, check, (row) => void go(row)));
    const open = new Set([...below.querySelectorAll<HTMLDetailsElement>("details.part[open]")].map((part) => part.id));
    replace(below, findings(opened, (_, row) => void go(row), (raised) => {
      const row = opened.rowOf.get(raised.events[0] ?? -1);
      if (row !== undefined) void go(row);
    }), toolTable(page), spent(page), leftOut(page), source(opened));
    for (const part of below.querySelectorAll<HTMLDetailsElement>("details.part")) part.open ||= open.has(part.id);
    bar.draw();
    void steps.renew();
  };
  draw(opened.page);
  void choose();
  const field = (name: string, input: HTMLElement): HTMLElement => h("div", { class: "field inline" }, h("label", { for: input.id }, name), input);
  const element = h("div", { class: "run" },
    section("transcript", "Transcript", h("div", { class: "find" }, field("Find", text), field("Show", choice), count), bar.element, steps.element), below);
  return {
    element, lead: top, touched: steps.element, refresh: draw, badge: chain, ended: "the recording has ended",
    select: (row) => void go(row),
    grown: () => {
      const more = fitting(kept);
      kept = opened.events.seq.length;
      // While a text is looked for the list stays: what is new is found by looking again.
      if (!text.value.trim()) steps.append(more);
      bar.draw();
    },
    newest: () => {
      const row = steps.shown.at(-1);
      if (row !== undefined) void steps.go(row, false);
    },
  };
}

function fitsAll(opened: Opened): number {
  return opened.events.seq.filter((_, row) => ["message", "tool_called"].includes(opened.word("event", row))).length;
}

function tools(opened: Opened): string[] {
  return opened.page.foreign?.tools.filter((tool) => tool.calls).map((tool) => tool.tool).slice(0, 100) ?? [];
}

// Without rules nothing can be played again: the most that a check finds is a chain that holds.
export function chain(check: Verification | null): HTMLElement {
  const fine = !check || check.sound || check.verdict === "foreign";
  return h("span", { class: `badge ${!check ? "none" : fine ? "good" : "bad"}`, title: check?.sentence ?? "" }, h("span", {}, !check ? "chain not checked" : fine ? "chain holds; not re-executable: no rules" : check.sentence));
}

function lead(opened: Opened, check: HTMLElement, go: (row: number) => void): HTMLElement {
  const { verdict, problems, foreign: about } = opened.page, run = verdict.foreign, said = [...verdict.sentences], [first] = run?.found ?? [];
  const trouble = verdict.status === "unsound" ? said.shift() ?? "" : "", last = said.pop() ?? "", found = said.pop() ?? "", head = said.pop() ?? "";
  const [name = "", ...rest] = head.split(": "), row = first ? opened.rowOf.get(first.seq) : undefined;
  return h("div", { class: "verdict", "data-status": verdict.status, "data-passed": String(run?.passed ?? "unknown") },
    trouble ? h("p", { class: "warning" }, foreign(trouble)) : null,
    h("h1", {}, foreign(name), run?.passed == null ? null : h("span", { class: `outcome ${run.passed ? "good" : "bad"}` }, run.passed ? "passed" : "failed")),
    about?.title ? h("p", { class: "second" }, foreign(about.title)) : null,
    h("p", { class: "second" }, foreign(begun(rest.join(": ")))),
    found && row !== undefined ? button([h("span", {}, foreign(found)), " ", h("span", { class: "num seq" }, `#${first?.seq ?? ""}`)], () => go(row), { class: "mistake", "data-seq": first?.seq }) : h("p", { class: "second" }, foreign(found)),
    h("p", { class: "effort" }, h("span", {}, foreign(last.replace(CHECK, "."))), " ", check, problems.length ? [" ", button(plural(problems.length, "problem"), () => {
      document.getElementById("trace")?.setAttribute("open", "");
      document.getElementById("trace")?.scrollIntoView();
    }, { class: "link problems" })] : null));
}

function begun(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function toolTable(page: Episode): HTMLElement {
  const rows = page.foreign?.tools ?? [], time = (value: number | null): string => (value === null ? "–" : seconds(value / 1e6));
  const used = rows.filter((tool) => tool.calls), unused = rows.filter((tool) => !tool.calls);
  return section("tools", ["Tools ", h("span", { class: "quiet num" }, `(${used.length})`)],
    used.length ? table(["tool name", "does", "known by", "times called", "refusals", "no answer", "median time", "95 % within"], used.map((tool): Child[] => [
      h("span", { class: "tool" }, foreign(tool.tool)), foreign(tool.kind || "–"), foreign(tool.known), number(tool.calls), number(tool.refused), number(tool.unanswered), time(tool.median_us), time(tool.p95_us)]), "Tools of the run", 3)
      : h("p", { class: "empty" }, "No tool was called."),
    unused.length ? unfolded(`${plural(unused.length, "tool")} offered and never called`, () => h("p", { class: "tool" }, foreign(unused.map((tool) => tool.tool).join(", ")))) : null);
}

function spent(page: Episode): HTMLElement {
  const rows = page.seats.filter((seat) => seat.account.model_calls || seat.account.cost_usd_micro);
  const cost = (micro: number | null | undefined): string => (micro == null ? "–" : dollars(micro));
  return section("spent", "Tokens and price", rows.length
    ? table(["agent", "model calls", "tokens in", "tokens out", "cost"], rows.map(({ id, account }): Child[] => [foreign(id), number(account.model_calls), number(account.input_tokens), number(account.output_tokens), cost(account.cost_usd_micro)]), "Tokens and price")
    : h("p", { class: "empty" }, "The source states neither tokens nor price."));
}

function leftOut(page: Episode): HTMLElement {
  const { left_out: out = [], redacted = [] } = page.foreign ?? {};
  const list = (rows: [string, number][]): HTMLElement => h("ul", { class: "left-out" }, rows.map(([name, count]) => h("li", {}, h("span", { class: "num" }, number(count)), " ", foreign(words(name)))));
  return section("left-out", "What was left out", out.length ? list(out) : h("p", { class: "empty" }, "Nothing: the trace holds all that its source says."),
    redacted.length ? [h("h3", {}, "Redacted before it was written"), list(redacted)] : null);
}

function source(opened: Opened): HTMLElement {
  const { page } = opened, run = page.verdict.foreign, check = page.verification, cut = page.bodies.cut;
  const rows: [Child, string | null | undefined][] = [["File", run?.file], ["Format", run?.format], ["Reader", page.foreign?.reader], ["Run", run?.run], ["Digest of the file", page.foreign?.digest.slice(0, 18)], [title("rules"), page.rules_version], ["Head", check?.head_hash?.slice(0, 18)], ["Seal", check?.seal?.slice(0, 18)]];
  return folded("trace", "Source and trace",
    page.problems.length ? h("ul", { class: "warning" }, page.problems.slice(0, 100).map((found) => h("li", {}, found.seq === null ? "" : `event ${found.seq}: `, foreign(found.message)))) : null,
    h("p", {}, h("span", { class: "path" }, foreign(page.name)), h("span", { class: "quiet" }, ` · ${bytes(page.bytes)} · ${plural(opened.events.seq.length, "event")}`)),
    check ? h("p", {}, foreign(check.sentence)) : null,
    pairs(rows.flatMap(([name, value]): [Child, Child][] => (value ? [[name, h("span", { class: "path" }, foreign(value))]] : []))),
    h("p", { class: "aside" }, cut ? `${plural(cut, "text")} longer than ${number(page.bodies.limit)} characters ${cut === 1 ? "was" : "were"} cut for this page; the trace has all of them.` : "Every message, argument and answer is on this page in full."),
    unfolded("Manifest: what is hashed", () => textView(page.manifest, null), { class: "block screen" }), unfolded("About: what is said beside it", () => textView(page.about, null), { class: "block screen" }));
}

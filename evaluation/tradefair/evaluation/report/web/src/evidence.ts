// What the seat could see, what it looked at before it acted, and the figures of conduct.

import { figure } from "./charts";
import type { AuditRow, Episode, EvidenceRow, Figure, Opened } from "./data";
import { type Child, h } from "./dom";
import { aligned, number, percent, plural, words } from "./format";
import { folded, modeName, table } from "./parts";
import { term, title } from "./terms";

function matrix(rows: EvidenceRow[], categories: string[], label: string): HTMLElement {
  const used = categories.filter((name) => rows.some((row) => (row.looked[name] ?? 0) > 0 || row.needed.includes(name)));
  const cell = (row: EvidenceRow, name: string): HTMLElement => {
    const share = row.count ? (row.looked[name] ?? 0) / row.count : 0, needed = row.needed.includes(name);
    return h("td", { class: `heat${needed ? " needed" : ""}`, "data-step": Math.ceil(share * 4), title: `${words(row.action)}: ${row.looked[name] ?? 0} of ${row.count} after a look at ${words(name)}${needed ? "; needed" : ""}` },
      share === 0 && !needed ? h("span", { class: "quiet" }, "·") : percent(share), needed ? h("span", { class: "hidden" }, " needed") : null);
  };
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "matrix" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, title("action")), h("th", { scope: "col", class: "num" }, title("done")), used.map((name) => h("th", { scope: "col", class: "slant" }, term(words(name), `Executed actions with a look at ${words(name)} earlier in the same round.`))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, words(row.action)), h("td", { class: "num" }, number(row.count)), used.map((name) => cell(row, name)))))));
}

function auditTable(rows: AuditRow[], rounds: number, label: string): HTMLElement {
  const ordered = [...rows].sort((a, b) => b.answered - a.answered || (a.tool < b.tool ? -1 : 1));
  return table(["tool", "shows", "answered", "refused", "rounds", "first", "last"], ordered.map((row): Child[] => [
    h("span", { class: "tool" }, row.tool), row.evidence.length ? row.evidence.map(words).join(", ") : h("span", { class: "quiet" }, "–"),
    row.answered ? number(row.answered) : h("span", { class: "never" }, row.offered ? "never used" : "not offered"), row.refused ? number(row.refused) : "–",
    row.rounds ? `${number(row.rounds)} of ${number(rounds)}` : "–", number(row.first), number(row.last),
  ]), label, 2);
}

export function evidence(opened: Opened): HTMLElement {
  const { page } = opened;
  const agent = page.seats.find((seat) => opened.own.has(seat.id)) ?? page.seats[0];
  const holder = h("div", {});
  const show = (seat: string): void => {
    const rows = page.evidence.filter((row) => row.seat === seat), tools = page.audit.filter((row) => row.seat === seat);
    const never = tools.filter((row) => row.offered && row.answered === 0);
    const looks = page.looks.find((chart) => chart.id === `looks_${seat}`);
    holder.replaceChildren(
      h("h3", {}, "Looks before actions"),
      rows.length ? matrix(rows, page.evidence_categories, "Looks before actions") : h("p", { class: "empty" }, "The seat took no action, or the market declares no evidence."),
      rows.length ? h("p", { class: "aside" }, "Share of executed actions with a look at the category earlier in the same round, whatever object it was about. Framed: the market says that the action needs it.") : "",
      looks ? figure(looks) : "",
      h("h3", {}, "What the seat could see, and what it looked at"),
      tools.length ? auditTable(tools, Math.max(page.rounds_closed, ...tools.map((row) => row.rounds)), "Information audit") : h("p", { class: "empty" }, "The market of this trace is not installed: its tools are not known."),
      never.length ? h("p", { class: "aside" }, `${plural(never.length, "tool")} offered and never used.`) : "");
  };
  if (agent) show(agent.id);
  const choice = h("select", { id: "evidence-seat", onchange: () => show(choice.value) }, page.seats.map((seat) => h("option", { value: seat.id, selected: seat === agent }, `${seat.id} ${seat.label ?? ""}`)));
  return folded("evidence", "Evidence",
    page.seats.length > 1 ? h("div", { class: "field inline" }, h("label", { for: "evidence-seat" }, "Seat"), choice) : null, holder, stages(page));
}

// Figures of conduct, stage by stage: each with its value, what was counted, and its formula.
function stages(page: Episode): Child {
  return (page.diagnosis?.stages ?? []).map((stage) => {
    const values = aligned(stage.figures.map((figure) => figure.value));
    const rows = stage.figures.map((figure, place): Child[] => [modeName(figure.id), values[place] ?? "", ratio(figure) || "–",
      h("div", { class: "what" }, figure.formula, figure.note ? h("span", { class: "quiet" }, ` · ${figure.note}`) : null)]);
    return [h("h3", {}, modeName(stage.name)), table(["figure", "value", "of", "what"], rows, stage.name)];
  });
}

function ratio(figure: Figure): string {
  if (figure.numerator === null) return "";
  return figure.denominator === null ? number(figure.numerator) : `${number(figure.numerator)} of ${number(figure.denominator)}`;
}

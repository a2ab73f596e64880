// What a reader sees first: the verdict in its own sentences, where it was lost as a link, effort, and the check.

import type { Mistake, Opened, Verdict, Verification } from "./data";
import { button, type Child, foreign, h } from "./dom";
import { number, plural } from "./format";

// What was chosen, and has the focus again afterwards.
export type Opener = HTMLElement | SVGElement;
export type OpenEvent = (opened: Opened, row: number, opener: Opener) => void;

const MISTAKE = /^(Most of it|All of it|More than all of it|It was lost|The costliest seat|Mistake)\b/;

// A green dot is a passed check; `events` is how many the page holds, more than were checked while an episode runs.
export function badge(check: Verification | null, events = 0): HTMLElement {
  if (!check) return h("span", { class: "badge none" }, h("span", {}, "not checked"));
  const running = check.sound && !check.sealed;
  const good = check.verdict === "reproduced", contradicted = !check.sound && check.verdict !== "foreign";
  const done = good || contradicted ? `${plural(check.events, "event")}${good ? "" : " sound"}, ${good ? "" : "not "}reproduced` : check.sentence;
  const text = running ? `${check.verdict} up to event ${number(check.events)} of ${number(Math.max(check.events, events))}` : done;
  return h("span", { class: `badge ${running ? "none" : check.sound ? "good" : "bad"}`, title: check.sentence }, h("span", {}, text));
}

// The first sentence up to its colon is set in the largest type; each part reads as a sentence of its own.
function split(sentence: string): [string, string] {
  const at = sentence.indexOf(": "), rest = sentence.slice(at + 2);
  return at > 30 ? [`${sentence.slice(0, at)}.`, rest.charAt(0).toUpperCase() + rest.slice(1)] : [sentence, ""];
}

export function dearest(verdict: Verdict): Mistake | null {
  const found = verdict.seats.flatMap((seat) => (seat.mistake ? [seat.mistake] : []));
  return found.sort((a, b) => (b.lost ?? -1) - (a.lost ?? -1))[0] ?? null;
}

function mistakeBar(opened: Opened, sentence: string, open: OpenEvent): HTMLElement {
  // The first event of the turn that lost most, without a ledger that of the first mistake.
  const seq = opened.page.ledgers?.[0]?.seqs[0] ?? dearest(opened.page.verdict)?.seq ?? -1, row = opened.rowOf.get(seq);
  if (row === undefined) return h("p", { class: "mistake" }, foreign(sentence));
  const bar: HTMLButtonElement = button([h("span", {}, foreign(sentence)), " ", h("span", { class: "num seq" }, `#${seq}`)], () => open(opened, row, bar), { class: "mistake", "data-seq": seq });
  return bar;
}

// The last sentence says what it took and what the check found; the dot shows the latter, also when it comes later.
function effort(sentence: string, check: HTMLElement, more: Child): HTMLElement {
  const at = sentence.lastIndexOf("; ");
  return h("p", { class: "effort" }, h("span", {}, foreign(at < 0 ? sentence : sentence.slice(0, at + 1))), " ", check, more);
}

export function lead(opened: Opened, open: OpenEvent, check: HTMLElement): HTMLElement {
  const { verdict, problems } = opened.page, said = verdict.sentences.filter((sentence) => sentence !== verdict.world), last = said.length > 1 ? said.pop() ?? "" : "";
  const place = said.findIndex((sentence) => MISTAKE.test(sentence));
  const mistake = place > 0 ? said.splice(place).join(" ") : "";
  const trouble = verdict.seats.some((seat) => seat.trouble && seat.trouble.kind !== "gave_up") || ["unsound", "failed"].includes(verdict.status);
  // A trouble is told in one breath.
  const score = said.shift() ?? "", [first, second] = trouble ? [score, ""] : split(score);
  const warned = problems.length ? [" ", button(plural(problems.length, "problem"), () => reveal("trace"), { class: "link problems" })] : null;
  return h("div", { class: "verdict", "data-status": verdict.status },
    h("h1", { class: trouble ? "trouble" : "" }, foreign(first)),
    second || said.length ? h("p", { class: "second" }, foreign([second, ...said].filter(Boolean).join(" "))) : null,
    mistake ? mistakeBar(opened, mistake, open) : null, effort(last, check, warned),
    verdict.world ? h("p", { class: "effort" }, foreign(verdict.world)) : null);
}

// Unfold a section and go there.
export function reveal(id: string): void {
  const target = document.getElementById(id);
  if (target instanceof HTMLDetailsElement) target.open = true;
  target?.scrollIntoView();
  target?.focus({ preventScroll: true });
}

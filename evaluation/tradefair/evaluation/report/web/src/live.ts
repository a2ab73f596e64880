// Following a running episode: its newest call and reply every second, verdict and check anew when a round has closed,
// or, where nothing has rounds, something has come.

import { type Episode, type EventColumns, type Opened, type Packed, type Verification, unpackJson } from "./data";
import { button, foreign, h, replace } from "./dom";
import type { View } from "./episode";
import { badge } from "./lead";
import { number } from "./format";

const EVERY_MS = 1_000, NUMBERS_MS = 4_000;

interface More { events: Packed; bodies: Packed; count: number; open: boolean; closed: boolean; reply: [string, string] | null }

// `priced`: what turns lost can be asked for, once the episode has ended.
export function follow(id: string, opened: Opened, view: View, header: HTMLElement, priced: boolean): void {
  const state = h("span", {}, "following …"), said = h("p", { class: "newest-reply", hidden: true });
  let numbers = performance.now(), pause = NUMBERS_MS, stale = true, newest = true;
  const go = button("newest ↓", () => {
    newest = true;
    show();
  }, { class: "link", hidden: true });
  header.append(h("div", { class: "live", role: "status", "aria-live": "off" }, state, " ", go), said);
  // The newest call is kept in view until the reader moves; their scrolling is told from ours by its cause.
  const show = (): void => {
    if (newest) view.newest();
    go.hidden = newest;
  };
  const stay = (): void => {
    newest = false;
    show();
  };
  for (const cause of ["wheel", "touchmove", "pointerdown", "keydown"]) view.touched.addEventListener(cause, stay, { passive: true });
  const ask = async (): Promise<boolean> => {
    const last = opened.events.seq.at(-1) ?? 0;
    const answer = await fetch(`/trace/${id}/live.json?after=${last}`);
    if (!answer.ok) return false;
    const more = (await answer.json()) as More;
    if (more.count > 0) {
      opened.append(await unpackJson<EventColumns>(more.events), more.bodies);
      view.grown();
      show();
    }
    said.hidden = !more.reply;
    if (more.reply) replace(said, h("b", {}, foreign(more.reply[0])), " ", foreign(more.reply[1]));
    stale ||= more.closed || !more.open;
    if (stale && (performance.now() - numbers > pause || !more.open)) {
      const begun = performance.now(), page = await fetch(`/trace/${id}/page.json`);
      if (page.ok) view.refresh((await page.json()) as Episode);
      numbers = performance.now();
      // A long trace is judged as a whole each time: at most a tenth of the time goes into it.
      pause = Math.max(NUMBERS_MS, 9 * (numbers - begun));
      stale = false;
      const seen = view.lead.querySelector<HTMLElement>(".badge");
      if (seen) void fetchBadge(id, seen, opened.events.seq.length, view.badge);
    }
    if (!more.open && priced) void fetchLedger(id, opened, view);
    state.textContent = more.open ? `following · ${number(opened.events.seq.length)} events` : view.ended;
    if (!more.open) go.hidden = said.hidden = true;
    return more.open;
  };
  const again = async (): Promise<void> => {
    const open = document.hidden ? true : await ask().catch(() => null);
    if (open === null) state.textContent = "the viewer does not answer; trying again";
    if (open !== false) setTimeout(() => void again(), EVERY_MS);
  };
  void again();
}

// What turns lost takes seconds to play: the page is there first, and is then drawn with it.
export async function fetchLedger(id: string, opened: Opened, view: View): Promise<void> {
  if (opened.page.ledgers?.length || opened.page.no_ledger || opened.page.foreign) return;
  view.refresh({ ...opened.page, no_ledger: "it is being computed …" });
  const answer = await fetch(`/trace/${id}/ledger.json`).catch(() => null);
  view.refresh(answer?.ok ? ((await answer.json()) as Episode) : { ...opened.page, no_ledger: "the viewer could not compute it" });
}

// The full check takes seconds: the page is there first, its badge follows. `events` is how many the page holds.
export async function fetchBadge(id: string, place: HTMLElement, events = 0, draw = badge): Promise<void> {
  const said = place.querySelector(":scope.none > span");
  if (said && !events) said.textContent = "the trace is being checked …";
  const answer = await fetch(`/trace/${id}/verify.json`).catch(() => null);
  if (answer?.ok) place.replaceWith(draw((await answer.json()) as Verification, events));
  else if (said) said.textContent = "the viewer could not check the trace";
}

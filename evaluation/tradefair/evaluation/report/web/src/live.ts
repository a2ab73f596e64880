// Following a running episode: new events are asked for every second, the numbers anew when a round has closed.

import { type Episode, type EventColumns, type Opened, type Packed, type Verification, unpackJson } from "./data";
import { h } from "./dom";
import type { EpisodeView } from "./episode";
import { badge } from "./lead";
import { number } from "./format";

const EVERY_MS = 1_000, NUMBERS_MS = 4_000;

interface More { events: Packed; bodies: Packed; count: number; open: boolean; closed: boolean }

export function follow(id: string, opened: Opened, view: EpisodeView, header: HTMLElement): void {
  const state = h("p", { class: "live", role: "status", "aria-live": "off" }, "following …");
  header.append(state);
  let numbers = performance.now(), stale = false;
  const ask = async (): Promise<boolean> => {
    const last = opened.events.seq.at(-1) ?? 0;
    const answer = await fetch(`/trace/${id}/live.json?after=${last}`);
    if (!answer.ok) return false;
    const more = (await answer.json()) as More;
    if (more.count > 0) {
      opened.append(await unpackJson<EventColumns>(more.events), more.bodies);
      view.filter.refresh();
      view.timeline.rebuild();
    }
    stale ||= more.closed || !more.open;
    if (stale && (performance.now() - numbers > NUMBERS_MS || !more.open)) {
      const page = await fetch(`/trace/${id}/page.json`);
      if (page.ok) view.refresh((await page.json()) as Episode);
      numbers = performance.now();
      stale = false;
    }
    const seen = header.querySelector<HTMLElement>(".badge");
    if (!more.open && seen) void fetchBadge(id, seen);
    state.textContent = more.open ? `following · ${number(opened.events.seq.length)} events` : "the episode has ended";
    return more.open;
  };
  const again = async (): Promise<void> => {
    const open = document.hidden ? true : await ask().catch(() => null);
    if (open === null) state.textContent = "the viewer does not answer; trying again";
    if (open !== false) setTimeout(() => void again(), EVERY_MS);
  };
  void again();
}

// The full check takes seconds: the page is there first, its badge follows.
export async function fetchBadge(id: string, place: HTMLElement): Promise<void> {
  const said = place.querySelector(":scope.none > span");
  if (said) said.textContent = "the trace is being checked …";
  const answer = await fetch(`/trace/${id}/verify.json`).catch(() => null);
  if (answer?.ok) place.replaceWith(badge((await answer.json()) as Verification));
  else if (said) said.textContent = "the viewer could not check the trace";
}

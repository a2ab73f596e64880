// The seat under test beside its references on the same luck: bars from zero, its own in the accent, others grey.

import type { Episode, SeatVerdict } from "./data";
import { type Child, foreign, h } from "./dom";
import { aligned } from "./format";
import { section, subject } from "./parts";
import { title } from "./terms";

interface Bar { name: string; value: number | null; own: boolean; note: string }

const MAX_SEATS = 3, MAX_BARS = 12;

function bars(rows: Bar[]): HTMLElement {
  const values = rows.map((row) => row.value ?? 0), low = Math.min(0, ...values), high = Math.max(0, ...values), span = high - low || 1;
  const texts = aligned(rows.map((row) => row.value));
  return h("ol", { class: "standing" }, rows.map((row, place) => {
    const bar = h("span", { class: "bar" }), value = row.value ?? 0;
    // Set by script, not by a style attribute: the policy of the page forbids those.
    bar.style.left = `${(100 * (Math.min(0, value) - low)) / span}%`;
    bar.style.width = `max(2px, ${(100 * Math.abs(value)) / span}%)`;
    return h("li", { class: row.own ? "own" : "" },
      h("span", { class: "who" }, foreign(row.name), row.note ? h("span", { class: "quiet" }, ` ${row.note}`) : null),
      h("span", { class: "track", "aria-hidden": "true" }, row.value === null ? null : bar), h("span", { class: "num" }, texts[place]));
  }));
}

function ofSeat(page: Episode, seat: SeatVerdict, named: boolean): Child {
  const references = seat.beside.map((other) => ({ name: other.name, value: other.value, own: false, note: other.privileged ? "(knows hidden facts)" : "" }));
  return [
    h("p", { class: "measure" }, named ? [h("b", {}, foreign(seat.seat)), " "] : null, title(seat.score.metric, page.figures), seat.score.unit ? h("span", { class: "quiet" }, ` ${seat.score.unit}`) : null),
    bars([{ name: seat.player, value: seat.score.value, own: true, note: "" }, ...references]),
  ];
}

export function beside(page: Episode): HTMLElement {
  const { seats } = page.verdict, some = seats.some((seat) => seat.beside.length > 0);
  const heading = seats.length ? [subject(page), " beside ", seats.length === 1 ? "its" : "their", " references"] : "Beside references";
  if (seats.length === 0) return section("beside", heading, h("p", { class: "empty" }, "No seat was under test, so nothing stands beside a reference."));
  // Without references, seats of one measure stand beside each other.
  const alike = !some && seats.length > 1 && seats.every((seat) => seat.score.metric === seats[0]?.score.metric);
  const rows = seats.slice(0, MAX_BARS).map((seat) => ({ name: seat.seat, value: seat.score.value, own: true, note: "" }));
  const [first] = seats;
  return section("beside", alike ? "The seats under test" : heading,
    alike && first ? [h("p", { class: "measure" }, title(first.score.metric, page.figures), h("span", { class: "quiet" }, ` ${first.score.unit}`)), bars(rows)] : seats.slice(0, MAX_SEATS).map((seat) => ofSeat(page, seat, seats.length > 1)),
    some ? h("p", { class: "aside" }, "Same seat, same seed, same opponents; bars start at zero.") : h("p", { class: "aside" }, "No references were played; ", h("code", {}, "tradefair play … --references"), " plays them in this seat on the same seed."));
}

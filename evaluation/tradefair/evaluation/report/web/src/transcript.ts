// What each model was sent and what it answered, by round, with links to the events that its calls became.

import { type Message, type ModelCall, type Opened, type SeatTranscript, unpackJson } from "./data";
import { button, type Child, foreign, h, replace, visible } from "./dom";
import { number, plural, words } from "./format";
import { turnPart } from "./ledgers";
import type { OpenEvent } from "./lead";
import { unfolded } from "./parts";
import { marked } from "./steps";

// Characters of messages up to which every round is open at once.
const SMALL = 200_000;

export class Transcript {
  readonly element = h("div", { class: "transcript" });
  private readonly content = h("div", {});
  private readonly places = new Map<number, { round: HTMLDetailsElement; of: () => HTMLElement | null }>();
  // The first event of each turn that begins with the reply of a note.
  private readonly turns = new Map<number, number>();
  private readonly ready: Promise<void>;
  // Events whose turns are known: with more of them it has to be made anew.
  readonly priced: number;
  private seats: SeatTranscript[] = [];
  private wanted = "";

  constructor(private readonly opened: Opened, private readonly open: OpenEvent) {
    const typed = h("input", { type: "search", id: "find-message", placeholder: "in messages and replies", spellcheck: "false", maxlength: 200 });
    this.priced = opened.turnOf.size;
    let waiting = 0;
    typed.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => {
        this.wanted = visible(typed.value.trim());
        this.draw();
      }, 200);
    });
    replace(this.element, h("div", { class: "field inline" }, h("label", { for: "find-message" }, "Find"), typed), this.content);
    this.ready = unpackJson<SeatTranscript[]>(opened.page.transcript).then((seats) => {
      this.seats = seats;
      this.draw();
    });
  }

  // The reply of a note, unfolded and in view once `show` has shown the transcript; false where it has none.
  async goTo(note: number, show: () => void): Promise<boolean> {
    await this.ready;
    const place = this.places.get(note);
    if (!place) return false;
    show();
    place.round.open = true;
    place.round.dispatchEvent(new Event("toggle"));
    const found = place.of();
    found?.scrollIntoView({ block: "center" });
    found?.focus({ preventScroll: true });
    return true;
  }

  private draw(): void {
    this.places.clear();
    this.turns.clear();
    for (const [seq, { turn }] of this.opened.turnOf) if (turn.seqs[0] === seq) this.turns.set(this.opened.replyIn(seq), seq);
    replace(this.content, this.seats.length ? this.seats.map((seat) => this.seat(seat)) : h("p", { class: "empty" }, "No prompts were kept: no model played here."));
  }

  private seat(seat: SeatTranscript): Child {
    const size = seat.messages.reduce((sum, message) => sum + message.text.length, 0);
    const rounds = new Map<number, ModelCall[]>();
    // Ids of calls that the market refused: the answer to one is an error.
    const refused = new Set(seat.calls.flatMap((call) => call.answer.calls.filter((_, place) => call.refused.includes(call.events[place] ?? -1)).map(([id]) => id)));
    for (const call of seat.calls) if (this.fits(seat, call)) rounds.set(call.round, [...(rounds.get(call.round) ?? []), call]);
    return [
      h("h2", {}, "What ", foreign(seat.seat), " was sent and answered ", h("span", { class: "quiet num" }, `(${plural(seat.calls.length, "request")})`)),
      seat.remark ? h("p", { class: "aside" }, seat.kept ? "" : "No prompts were kept: ", foreign(seat.remark), ".") : null,
      [...rounds].map(([round, calls], place) => {
        const made = unfolded([round < 0 ? "Outside of rounds" : `Round ${number(round)}`, h("span", { class: "quiet" }, ` · ${plural(calls.length, "reply", "replies")}`)], () => calls.map((call) => this.exchange(seat, call, refused)), { class: "round" });
        for (const call of calls) if (call.note >= 0) this.places.set(call.note, { round: made as HTMLDetailsElement, of: () => made.querySelector(`[data-note="${call.note}"]`) });
        if (size <= SMALL || this.wanted || place === 0) {
          made.setAttribute("open", "");
          made.dispatchEvent(new Event("toggle"));
        }
        return made;
      }),
      rounds.size ? null : h("p", { class: "empty" }, this.wanted ? "No message holds this text." : "No request."),
    ];
  }

  private fits(seat: SeatTranscript, call: ModelCall): boolean {
    if (!this.wanted) return true;
    const wanted = this.wanted.toLowerCase();
    const texts = [call.answer, ...call.new.map((index) => seat.messages[index])].flatMap((message) => (message ? [message.text, ...message.calls.flat()] : []));
    return texts.some((text) => text.toLowerCase().includes(wanted));
  }

  // One request: what was new in it, and the reply with the calls that it made.
  private exchange(seat: SeatTranscript, call: ModelCall, refused: Set<string>): HTMLElement {
    const before = call.same + call.shown.length - call.new.length, tools = seat.tools[call.tools];
    const meta = [call.role, call.phase, call.input_tokens >= 0 ? `${number(call.input_tokens)} tokens in, ${number(call.output_tokens)} out` : "", call.finish].filter(Boolean).map(words).join(" · ");
    return h("div", { class: "exchange", "data-note": call.note, tabindex: -1 },
      call.note < 0 ? null : turnPart(this.opened, this.turns.get(call.note) ?? -1),
      meta ? h("p", { class: "aside" }, foreign(meta)) : null,
      before > 0 ? h("p", { class: "aside" }, `${plural(before, "message")} as before`) : null,
      call.new.map((index) => {
        const message = seat.messages[index];
        if (!message) return null;
        const shown = this.message(message, message.role === "tool" ? "market" : message.role, message.answers !== "" && refused.has(message.answers) ? "wrong" : "");
        // The same for every round, and long: folded unless it is what was looked for.
        return message.role === "system" && !this.wanted ? unfolded(`system, ${number(message.text.length)} characters`, () => shown) : shown;
      }),
      tools && tools.names.length ? unfolded(plural(tools.names.length, "tool"), () => h("p", { class: "tool" }, foreign(tools.names.join(", ")))) : null,
      this.message(call.answer, call.answer.role === "error" || call.status >= 400 ? "error" : "reply", call.answer.role === "error" || call.status >= 400 ? "wrong reply" : "reply", call));
  }

  private message(message: Message, who: string, state: string, call: ModelCall | null = null): HTMLElement {
    const made = message.calls.map(([, tool, given], place) => {
      const seq = call?.events[place], row = seq === undefined ? undefined : this.opened.rowOf.get(seq);
      const link: HTMLElement | null = row === undefined ? null : button(`#${seq}`, () => this.open(this.opened, row, link ?? document.body), { class: "link num", "data-seq": seq });
      return h("p", { class: `made${seq !== undefined && call?.refused.includes(seq) ? " wrong" : ""}` }, this.marked(`${tool} ${given}`), " ", link);
    });
    return h("div", { class: `message ${state}` }, h("span", { class: "who" }, foreign(who)),
      h("div", {}, message.text || made.length === 0 ? h("pre", { dir: "auto" }, message.text ? this.marked(message.text) : h("span", { class: "quiet" }, "no text")) : null, made,
        message.cut === null ? null : h("p", { class: "aside" }, `Cut: ${number(message.text.length)} of ${number(message.cut)} characters.`)));
  }

  private marked(text: string): Child {
    return marked(text, this.wanted);
  }
}

// What the page is told (report/page_data.py has the same names), and how packed texts are opened.

import type { Listing } from "./listing";
import type { SiteIndex } from "./site";

export interface Packed { starts: number[]; chunks: string[]; rows: number; limit: number; cut: number }
export interface Axis { label: string; unit: string }
interface ChartBase { id: string; title: string; note: string; accent: string | null; x: Axis; y: Axis }
export interface Line {
  name: string; x: number[]; y: (number | null)[]; mark: "line" | "step" | "dots" | "bars"; panel: string | null; faint: boolean;
  // The line at the same positions to which the area is shaded.
  shade_to?: string;
  // Texts at single bars, empty for the others.
  labels?: string[];
}
export interface Band { label: string; low: number; high: number }
export interface XYChart extends ChartBase { shape: "xy"; lines: Line[]; bands: Band[] }
export interface Bars { name: string; values: (number | null)[] }
export interface BarChart extends ChartBase { shape: "bars"; names: string[]; bars: Bars; marks: Bars | null }
export interface HeatChart extends ChartBase {
  shape: "heat"; rows: string[]; groups: string[]; first_column: number; last_column: number;
  cells: [number, number, number][]; levels: string[]; ordered: boolean;
}
export interface IntervalChart extends ChartBase {
  shape: "intervals"; names: string[]; values: number[]; lows: (number | null)[]; highs: (number | null)[];
}
export interface MatrixChart extends ChartBase {
  shape: "matrix"; names: string[]; cells: { row: number; column: number; value: number; note: string }[];
}
export interface PairChart extends ChartBase {
  shape: "pairs"; names: string[]; differences: number[]; muted: boolean[]; mean: number | null; low: number | null; high: number | null; ties: number;
}
export interface Strip { name: string; values: number[]; of: number; mean: number | null }
export interface StripChart extends ChartBase { shape: "strips"; strips: Strip[] }
export type Chart = XYChart | BarChart | HeatChart | IntervalChart | MatrixChart | PairChart | StripChart;

export interface FigureText {
  title: string; short: string; formula: string; unit: string; null: string; better: "higher" | "lower" | "none"; caution: string; source: string;
}
// The verdict as `verdict/verdict.py` makes it; the page shows its sentences and never words of its own.
export interface Mistake {
  mode: string; seat: string; seq: number; round: number; because: string; lost: number | null; turns: number; unit: string;
}
export interface SeatVerdict {
  seat: string; role: string; player: string; kind: string;
  score: { metric: string; title: string; value: number | null; unit: string; higher_is_better: boolean };
  beside: { name: string; value: number | null; privileged: boolean }[];
  mistake: Mistake | null; raised: number; checked: number; unchecked: number; acted: boolean; trouble: { kind: string; text: string } | null;
}
export interface ForeignRun {
  how: string; format: string; file: string; run: string; passed: boolean | null; runs: number; steps: number; messages: number; calls: number;
  unanswered: number; refused: number; raised: number; checked: number; unchecked: number; rules: string[]; tools: string[];
  found: { rule: string; seq: number; step: number | null; because: string }[];
}
export interface ToolUse { tool: string; kind: string; known: string; calls: number; refused: number; unanswered: number; median_us: number | null; p95_us: number | null }
export interface Foreign { title: string; reader: string; digest: string; tools: ToolUse[]; left_out: [string, number][]; redacted: [string, number][] }
export interface Verdict {
  foreign?: ForeignRun;
  status: string; seats: SeatVerdict[]; sentences: string[]; text: string; world: string; versions: Record<string, string>;
  reproduced: { state: string; events: number; seq: number | null };
}
export interface Figure {
  id: string; seats: string[]; value: number | null; numerator: number | null; denominator: number | null;
  formula: string; window: string | null; events: number[]; parts: Record<string, number | null>; note: string | null;
}
export interface Case {
  seq: number; round: number; because: string; shown_by: number | null; about: string | null; also: string[];
}
export interface Finding {
  id: string; seats: string[]; status: "raised" | "condition" | "clear" | "unchecked" | "merged"; says: string; counts: string;
  threshold: string; count: number; of: number; amount: number; share: number | null; cases: Case[]; parts: Record<string, number | null>; note: string | null;
  turns: number[]; lost: number | null; base_rate: { raised: number; of: number } | null; rank: number | null;
}
// A raised finding, what its turns lost in words, and the events of its cases.
export interface Raised { finding: Finding; told: string[]; events: number[] }
export interface Diagnosis {
  market: string; modes_version: string; evidence_map: string | null;
  stages: { name: string; figures: Figure[] }[]; findings: Finding[]; not_read: { seq: number; seat: string; because: string }[];
}
// What a seat lost, turn by turn; `seqs` are the events to which the table's rows lead, `turns` as many as bars.
export interface LedgerPage { seat: string; unit: string; per_unit: number; best: string; chart: XYChart; table: Table; seqs: (number | null)[]; turns: Turn[] }
// A turn, or a stretch of turns without `would`: what it lost, below 0 where it gained.
export interface Turn { place: string; lost: number; did: string[]; would: string[]; seqs: number[] }
export interface Account {
  calls?: number; actions?: number; inner_calls?: number; refused?: number; lapses?: Record<string, number>;
  model_calls?: number; input_tokens?: number | null; output_tokens?: number | null; usage_estimated?: boolean;
  model_seconds?: number | null; cost_usd_micro?: number | null; stop?: string | null;
}
export interface Seat {
  id: string; role: string; label: string | null; privileged: boolean; outcome: Record<string, unknown>; account: Account;
}
export interface Verification {
  verdict: string; sound: boolean; sentence: string; events: number; seq: number | null; sealed: boolean;
  head_hash: string | null; seal: string | null; signed_by: string | null;
  in_log: string | null; re_executed: string | null; findings: string[];
}
export interface EvidenceRow {
  seat: string; action: string; count: number; looked: Record<string, number>; needed: string[];
}
export interface AuditRow {
  seat: string; tool: string; title: string; evidence: string[]; offered: boolean; answered: number; refused: number;
  rounds: number; first: number | null; last: number | null;
}
export interface Episode {
  verdict: Verdict; name: string; bytes: number; market: string; scenario: string; description: string; seed: number | null;
  rules_version: string; rounds_closed: number; end_reason: string | null; censored: boolean;
  wall_seconds: number | null; manifest: string; about: string; verification: Verification | null; seats: Seat[];
  seat_columns: string[]; figures: Record<string, FigureText>; results: [string, unknown][]; tables: { title: string; columns: string[]; rows: string[][] }[];
  charts: Chart[]; diagnosis: Diagnosis | null; raised: Raised[]; asides: string[]; evidence_categories: string[];
  evidence: EvidenceRow[]; looks: HeatChart[]; audit: AuditRow[]; problems: { seq: number | null; message: string }[];
  events: Packed; bodies: Packed; notes: Packed; note_bodies: Packed; transcript: Packed; foreign?: Foreign;
  ledgers?: LedgerPage[]; no_ledger?: string;
}
// What each model was sent and what came of it, as report/transcript.py explains it.
export interface Message { role: string; text: string; calls: [string, string, string][]; answers: string; cut: number | null }
export interface ModelCall {
  id: string; note: number; round: number; phase: string; role: string; same: number; shown: number[]; new: number[]; tools: number;
  answer: Message; finish: string; status: number; input_tokens: number; output_tokens: number; events: number[]; refused: number[];
}
export interface SeatTranscript {
  seat: string; kept: boolean; remark: string; messages: Message[]; tools: { names: string[]; text: string }[]; calls: ModelCall[];
}
export interface Decision {
  seq: number; round: number; phase: string; seat: string; tool: string | null; arguments: unknown; status: string;
  error: string | null; result: string | null;
}
export interface Divergence {
  round: number; phase: string; seat: string; what: string; a: Decision | null; b: Decision | null;
}
export interface Pair {
  attributes: { name: string; a: string[]; b: string[] }[]; divergence: Divergence | null; note: string;
}
export interface BoardPage {
  title: string; charts: Chart[]; tables: { title: string; columns: string[]; rows: string[][] }[];
  cautions: string[]; left_out: string[]; method: string[];
}
export interface Table { title: string; columns: string[]; rows: string[][] }
export interface FigureRecord {
  title: string; verdict: { sentences: string[]; next: { command: string; why: string }[] } | null;
  charts: Chart[]; tables: Table[]; notes: string[]; method: string;
}
export interface PageData {
  mode: "report" | "compare" | "list" | "boards" | "figure"; version: string; verdict: Verdict | null; episodes: Episode[]; pair: Pair | null;
  live: { id: string; open: boolean; ledger: boolean }[]; listing: Listing | null; site: SiteIndex | null; folder: string;
  boards: BoardPage[]; rated: string; ask: string; figure: FigureRecord | null;
  rates?: { title: string; columns: string[]; rows: string[][] }; rates_note?: string;
}

// One entry per event in every array; words are numbers into `names`.
export interface EventColumns {
  names: string[]; seq: number[]; event: number[]; round: number[]; phase: number[]; seat: number[]; tool: number[];
  kind: number[]; status: number[]; parent: number[]; latency_us: number[]; size: number[]; reply: number[];
  argument: string[]; clicked: number[];
  // Of what was imported or recorded; our own markets have none of them.
  step?: number[]; role?: number[]; part?: number[]; speaker?: number[];
}
export interface NoteColumns {
  seat: string[]; kind: string[]; round: number[]; input_tokens: number[]; output_tokens: number[];
  latency_ms: number[]; cost_usd_micro: number[];
}

// A text, and how long it was when it had to be cut (null: it is whole).
export interface Cut { text: string | null; length: number | null }

async function inflate(packed: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

export async function unpackJson<T>(packed: Packed): Promise<T> {
  return (await inflate(packed.chunks[0] ?? "")) as T;
}

type RawRow = [string | null, number | null][];

// Rows of texts; a chunk is opened when one of its rows is asked for, and the last few stay open.
export class Texts {
  private readonly parts: { start: number; packed: Packed; chunk: number }[] = [];
  private readonly open = new Map<number, Promise<RawRow[]>>();
  private rows = 0;

  constructor(packed: Packed) {
    this.add(packed);
  }

  get length(): number {
    return this.rows;
  }

  add(packed: Packed): void {
    packed.starts.forEach((start, chunk) => this.parts.push({ start: start + this.rows, packed, chunk }));
    this.rows += packed.rows;
  }

  async row(row: number): Promise<Cut[]> {
    const place = this.parts.findLastIndex((part) => part.start <= row);
    const part = this.parts[place];
    if (!part || row >= this.rows) return [];
    let found = this.open.get(place);
    if (!found) {
      found = inflate(part.packed.chunks[part.chunk] ?? "") as Promise<RawRow[]>;
      this.open.set(place, found);
      const [oldest] = this.open.keys();
      if (this.open.size > 64 && oldest !== undefined) this.open.delete(oldest);
    }
    return ((await found)[row - part.start] ?? []).map(([text, length]) => ({ text, length }));
  }
}

// A run without rules has one round, which says nothing.
function withoutRound(text: string): string {
  return text.replace(/^round 1: /, "");
}

export interface Cited { finding: Finding; because: string }

// An episode with its columns opened.
export class Opened {
  readonly rowOf = new Map<number, number>();
  readonly children = new Map<number, number[]>();
  // Calls that a person made on the board.
  readonly clicked = new Set<number>();
  readonly citedBy = new Map<number, Cited[]>();
  // The turn of a ledger to which an event belongs.
  readonly turnOf = new Map<number, { ledger: LedgerPage; turn: Turn }>();
  // Seats under test; their calls that a finding cites are ringed.
  own = new Set<string>();
  readonly ringed = new Set<number>();

  private constructor(
    public page: Episode,
    readonly events: EventColumns,
    readonly bodies: Texts,
    readonly notes: NoteColumns,
    readonly noteTexts: Texts,
  ) {
    this.index(0);
    this.cite();
  }

  private cite(): void {
    this.own = new Set(this.page.verdict.seats.map((seat) => seat.seat));
    this.citedBy.clear();
    this.turnOf.clear();
    for (const ledger of this.page.ledgers ?? []) for (const turn of ledger.turns) for (const seq of turn.seqs) this.turnOf.set(seq, { ledger, turn });
    this.ringed.clear();
    for (const { finding } of this.page.raised)
      for (const found of finding.cases) {
        if (this.page.foreign) {
          found.because = withoutRound(found.because);
          found.also = found.also.map(withoutRound);
        }
        for (const seq of new Set([found.seq, found.shown_by ?? found.seq])) {
          const because = [found.because, ...found.also].join("; ");
          this.citedBy.set(seq, [...(this.citedBy.get(seq) ?? []), { finding, because }]);
          const row = this.rowOf.get(found.seq);
          if (row !== undefined && this.mine(finding.seats)) this.ringed.add(row);
        }
      }
  }

  // Whether something is about a seat under test; where none is, about any.
  mine(seats: string[]): boolean {
    return this.own.size === 0 || seats.some((seat) => this.own.has(seat));
  }

  // The note of the first reply in the turn of an event; −1 where no model was asked.
  replyIn(seq: number): number {
    const seqs = this.turnOf.get(seq)?.turn.seqs ?? [];
    return seqs.map((one) => this.events.reply[this.rowOf.get(one) ?? -1] ?? -1).find((note) => note >= 0) ?? -1;
  }

  static async of(page: Episode): Promise<Opened> {
    const events = await unpackJson<EventColumns>(page.events);
    const notes = await unpackJson<NoteColumns>(page.notes);
    return new Opened(page, events, new Texts(page.bodies), notes, new Texts(page.note_bodies));
  }

  // The same events under the numbers of a later moment.
  renew(page: Episode): void {
    this.page = page;
    this.cite();
  }

  // More events of a running episode; words are translated into this episode's names.
  append(more: EventColumns, bodies: Packed): void {
    const from = this.events.seq.length;
    const word = more.names.map((name) => {
      const known = this.events.names.indexOf(name);
      return known >= 0 ? known : this.events.names.push(name) - 1;
    });
    for (const column of ["event", "phase", "seat", "tool", "kind", "status"] as const)
      for (const name of more[column]) this.events[column].push(word[name] ?? 0);
    for (const column of ["role", "part", "speaker"] as const) this.events[column]?.push(...(more[column] ?? more.seq.map(() => 0)).map((name) => word[name] ?? 0));
    for (const column of ["seq", "round", "latency_us", "size"] as const) this.events[column].push(...more[column]);
    this.events.step?.push(...(more.step ?? more.seq.map(() => -1)));
    this.events.parent.push(...more.parent.map((row) => (row < 0 ? -1 : row + from)));
    this.events.reply.push(...more.reply.map(() => -1));
    this.events.argument.push(...more.argument);
    this.events.clicked.push(...more.clicked.map((row) => row + from));
    this.bodies.add(bodies);
    this.index(from);
  }

  word(column: "event" | "phase" | "seat" | "tool" | "kind" | "status" | "role" | "part" | "speaker", row: number): string {
    return this.events.names[this.events[column]?.[row] ?? -1] ?? "";
  }

  private index(from: number): void {
    for (const row of this.events.clicked) this.clicked.add(row);
    for (let row = from; row < this.events.seq.length; row++) {
      this.rowOf.set(this.events.seq[row] ?? 0, row);
      const parent = this.events.parent[row] ?? -1;
      if (parent >= 0) this.children.set(parent, [...(this.children.get(parent) ?? []), row]);
    }
  }
}

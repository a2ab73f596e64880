// What the board is told, read with care: a stranger's market may answer anything.

import { isObject, type Json } from "./peer";

export interface Turn {
  seat: string; role: string; round: number; phase: string; revision: number; awaited: boolean; actions: string[]; over: boolean; end_reason: string | null;
  limits: { counts: string[]; used: number; max: number; per: string; then: string }[]; market: Json;
}
export interface Offered {
  name: string; title: string; description: string; inputSchema: Json; endsTurn: boolean; destructive: boolean;
}
export interface BoardState {
  market: string; scenario: string; seat: string; title: string; revision: number; open: boolean; over: boolean; turn: Turn; actions: Offered[]; reads: Offered[];
}
// One answer of a tool; `turnOver`: nothing more is awaited of the seat in this phase.
export interface Answer { data: unknown; refused: Refusal | null; turnOver: boolean }
export interface Refusal { code: string; message: string; hint: string }

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function amount(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function rows(value: unknown): Json[] {
  return list(value).filter(isObject);
}

export function field(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), value);
}

export function turnOf(value: unknown): Turn | null {
  if (!isObject(value) || typeof value["round"] !== "number") return null;
  const limits = rows(value["limits"]).map((limit) => ({
    counts: list(limit["counts"]).map(text), used: amount(limit["used"]) ?? 0, max: amount(limit["max"]) ?? 0, per: text(limit["per"]), then: text(limit["then"]),
  }));
  return {
    seat: text(value["seat"]), role: text(value["role"]), round: value["round"], phase: text(value["phase"]), revision: amount(value["revision"]) ?? 0,
    awaited: value["awaited"] === true, actions: list(value["actions"]).map(text), over: value["over"] === true, end_reason: text(value["end_reason"]) || null, limits,
    market: isObject(value["market"]) ? value["market"] : {},
  };
}

function offered(value: Json): Offered {
  return {
    name: text(value["name"]), title: text(value["title"]) || text(value["name"]), description: text(value["description"]),
    inputSchema: isObject(value["inputSchema"]) ? value["inputSchema"] : {}, endsTurn: value["endsTurn"] === true, destructive: value["destructive"] === true,
  };
}

export function stateOf(value: unknown): BoardState | null {
  const turn = turnOf(field(value, "turn"));
  if (!isObject(value) || !turn) return null;
  return {
    market: text(value["market"]), scenario: text(value["scenario"]), seat: text(value["seat"]), title: text(value["title"]),
    revision: amount(value["revision"]) ?? 0, open: value["open"] === true || turn.awaited, over: value["over"] === true, turn,
    actions: rows(value["actions"]).map(offered), reads: rows(value["reads"]).map(offered),
  };
}

// The result of tools/call.
export function answerOf(result: Json): Answer {
  const data = result["structuredContent"], refused = result["isError"] === true;
  const told = text(field(list(result["content"])[0], "text"));
  return {
    data, refused: refused ? { code: text(field(data, "code")), message: text(field(data, "message")) || told || "refused", hint: text(field(data, "hint")) } : null,
    turnOver: field(result["_meta"], "tradefair/turn", "turn_over") === true,
  };
}

// --- what has been learned -------------------------------------------------------------------------------------------

const KEYS = ["number", "round"], MAX_ROWS = 2_000;

// The newest answer of each tool, and all rows of lists that grow: rounds, messages, proposals.
export class Known {
  private readonly answers = new Map<string, Answer>();
  private readonly grown = new Map<string, Map<number, Json>>();

  constructor(public state: BoardState) {}

  get(tool: string, ...path: string[]): unknown {
    return field(this.answers.get(tool)?.data, ...path);
  }

  has(tool: string): boolean {
    return this.answers.has(tool);
  }

  // Rows of a list in the order of their numbers.
  rows(tool: string, name: string): Json[] {
    return [...(this.grown.get(`${tool} ${name}`) ?? [])].sort(([a], [b]) => a - b).map(([, row]) => row);
  }

  // The highest number of a row; 0 before there is one.
  last(tool: string, name: string): number {
    return Math.max(0, ...(this.grown.get(`${tool} ${name}`)?.keys() ?? []));
  }

  // A row that came otherwise than as an answer, such as the last close in a turn.
  keep(tool: string, name: string, key: number, row: Json): void {
    const place = `${tool} ${name}`;
    this.grown.set(place, (this.grown.get(place) ?? new Map<number, Json>()).set(key, row));
  }

  // Whether the answer held a list of rows of which none was known.
  learn(tool: string, answer: Answer): boolean {
    if (answer.refused) return false;
    this.answers.set(tool, answer);
    if (!isObject(answer.data)) return false;
    let news = false;
    for (const [name, value] of Object.entries(answer.data)) {
      const found = rows(value), key = KEYS.find((key) => found.length && found.every((row) => Number.isInteger(row[key])) && new Set(found.map((row) => row[key])).size === found.length);
      if (!key) continue;
      const place = `${tool} ${name}`, known = this.grown.get(place) ?? new Map<number, Json>();
      news ||= found.every((row) => !known.has(row[key] as number));
      for (const row of found) known.set(row[key] as number, row);
      for (const oldest of [...known.keys()].sort((a, b) => a - b).slice(0, Math.max(0, known.size - MAX_ROWS))) known.delete(oldest);
      this.grown.set(place, known);
    }
    return news;
  }
}

// JSON shown as it is stored: numbers and escapes keep their spelling, which JSON.parse would lose.

import { h, visible } from "./dom";

export type Tree =
  | { kind: "object"; entries: [string, Tree][] }
  | { kind: "array"; items: Tree[] }
  | { kind: "string"; raw: string }
  | { kind: "other"; raw: string };

const TOKEN = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/y;
const MAX_TOKENS = 60_000;
const MAX_DEPTH = 200;
const MAX_MARKED = 6_000;

class Reader {
  private count = 0;
  constructor(private readonly tokens: string[]) {}

  get done(): boolean {
    return this.count === this.tokens.length;
  }

  value(depth = 0): Tree {
    const token = this.tokens[this.count++];
    if (token === undefined || depth > MAX_DEPTH) throw new Error("not JSON");
    if (token === "{") return { kind: "object", entries: this.list("}", () => this.entry(depth)) };
    if (token === "[") return { kind: "array", items: this.list("]", () => this.value(depth + 1)) };
    if (",:]}".includes(token)) throw new Error("not JSON");
    return { kind: token.startsWith('"') ? "string" : "other", raw: token };
  }

  private entry(depth: number): [string, Tree] {
    const key = this.tokens[this.count++] ?? "";
    if (this.tokens[this.count++] !== ":") throw new Error("not JSON");
    return [key, this.value(depth + 1)];
  }

  private list<T>(end: string, one: () => T): T[] {
    const found: T[] = [];
    while (this.tokens[this.count] !== end) {
      found.push(one());
      if (this.tokens[this.count] === ",") this.count++;
      else if (this.tokens[this.count] !== end) throw new Error("not JSON");
    }
    this.count++;
    return found;
  }
}

// The text as a tree; null when it is no JSON (cut texts are none) or too large to be laid out.
export function parseRaw(text: string): Tree | null {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (!match || tokens.length > MAX_TOKENS) return null;
    tokens.push(match[1] ?? match[2] ?? match[3] ?? "");
  }
  try {
    const reader = new Reader(tokens);
    const tree = reader.value();
    return reader.done ? tree : null;
  } catch {
    return null;
  }
}

// A member of an object, as it is stored.
export function member(tree: Tree | null, name: string): Tree | null {
  if (tree?.kind !== "object") return null;
  return tree.entries.find(([key]) => key === JSON.stringify(name))?.[1] ?? null;
}

export function isNull(tree: Tree | null): boolean {
  return tree === null || (tree.kind === "other" && tree.raw === "null");
}

// A string member decoded; null where it is none.
export function stringOf(tree: Tree | null): string | null {
  if (tree?.kind !== "string") return null;
  try {
    return String(JSON.parse(tree.raw));
  } catch {
    return tree.raw;
  }
}

function flat(tree: Tree): string {
  if (tree.kind === "object") return `{${tree.entries.map(([key, value]) => `${key}: ${flat(value)}`).join(", ")}}`;
  if (tree.kind === "array") return `[${tree.items.map(flat).join(", ")}]`;
  return tree.raw;
}

type Piece = { text: string; role: "key" | "string" | "" };
const WIDTH = 64;

function lay(tree: Tree, indent: string, out: Piece[]): void {
  if (tree.kind !== "object" && tree.kind !== "array") {
    out.push({ text: tree.raw, role: tree.kind === "string" ? "string" : "" });
    return;
  }
  const [open, close] = tree.kind === "object" ? ["{", "}"] : ["[", "]"];
  const parts: [string | null, Tree][] =
    tree.kind === "object" ? tree.entries : tree.items.map((item): [null, Tree] => [null, item]);
  const short = parts.length === 0 || flat(tree).length + indent.length <= WIDTH;
  const inner = short ? "" : `${indent}  `;
  const gap = short ? "" : "\n";
  out.push({ text: open + gap, role: "" });
  parts.forEach(([key, value], place) => {
    out.push({ text: inner, role: "" });
    if (key !== null) out.push({ text: key, role: "key" }, { text: ": ", role: "" });
    lay(value, inner, out);
    const last = place === parts.length - 1;
    out.push({ text: last ? gap : short ? ", " : ",\n", role: "" });
  });
  out.push({ text: (short ? "" : indent) + close, role: "" });
}

// JSON laid out, each string kept apart so that no writing direction reorders its surroundings.
export function jsonView(tree: Tree): HTMLElement {
  const pieces: Piece[] = [];
  lay(tree, "", pieces);
  const block = h("pre", { class: "json", dir: "ltr", tabindex: 0 });
  if (pieces.length > MAX_MARKED) {
    block.textContent = visible(pieces.map((piece) => piece.text).join(""));
    return block;
  }
  for (const piece of pieces)
    block.append(piece.role ? h("bdi", { class: piece.role }, piece.text) : visible(piece.text));
  return block;
}

// Any text that may be JSON: laid out when it is whole, as it stands when it was cut.
export function textView(text: string, length: number | null): HTMLElement {
  const tree = length === null ? parseRaw(text) : null;
  if (tree) return jsonView(tree);
  const block = h("pre", { class: "json plain", dir: "auto", tabindex: 0 }, text);
  if (length === null) return block;
  const note = `Cut: ${text.length.toLocaleString("en-GB")} of ${length.toLocaleString("en-GB")} characters. The trace has all of it.`;
  return h("div", {}, block, h("p", { class: "aside" }, note));
}

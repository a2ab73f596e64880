// Any answer as people read it: named values, tables, nested parts folded. For markets without a view of their own, for
// receipts and for looks.

import { amount, list } from "./board-data";
import { type Child, foreign, h } from "./dom";
import { aligned, number } from "./format";
import { begun } from "./board-fields";
import { isObject, type Json } from "./peer";

const MAX_ROWS = 200, MAX_COLUMNS = 14, MAX_DEPTH = 6, LONG = 80;
const MONEY = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
// Fields of minor units; whatever else is money comes in currency already.
const MINOR = /_(cents|minor)$/;
// Names that stand for currency among the answers of our markets, and those that stand for points as well.
const CURRENCY = /^(funds|funds_after|net_worth|unit_price|avg_cost|book_value|revenue|gross_sales|refunds|rent|rent_per_day|budget_left|reserve|ceiling|total_cost|net_profit|reference_total|new_price|old_price)$/;
const EITHER = /^(total|paid|price|profit|profit_total|marginal|cost|value)$/;

export function money(value: unknown): string {
  const known = amount(value);
  return known === null ? "–" : MONEY.format(known).replace("-", "−");
}

function name(key: string): string {
  return begun(key.replace(MINOR, ""));
}

function single(key: string, value: unknown): Child {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    if (MINOR.test(key)) return money(value / 100);
    return CURRENCY.test(key) || (EITHER.test(key) && !Number.isInteger(value)) ? money(value) : number(value);
  }
  return wordsOf(String(value));
}

// A text of any length: short ones in line, long ones in a box of their own.
export function wordsOf(value: string): HTMLElement {
  return value.length > LONG || value.includes("\n") ? h("span", { class: "words", dir: "auto" }, value) : foreign(value);
}

function isSingle(value: unknown): boolean {
  return !isObject(value) && !Array.isArray(value);
}

// Lists of one length, one list per column: `{product_id: [...], price: [...]}`. Beside other values they are that only
// where one of them is a list of ids.
function columns(value: Json): string[] {
  const parts = Object.entries(value).filter(([, part]) => part !== null), lists = parts.filter(([, part]) => Array.isArray(part)), [first] = lists;
  const even = first !== undefined && lists.every(([, part]) => list(part).length === list(first[1]).length && list(part).every(isSingle));
  return even && lists.length > 1 && (lists.length === parts.length || lists.some(([key]) => key.endsWith("_id"))) ? lists.map(([key]) => key) : [];
}

// A table that came as one list per column, as rows.
export function columned(value: unknown): Json[] {
  const parts = isObject(value) ? Object.entries(value).filter(([, part]) => Array.isArray(part)) : [];
  return list(parts[0]?.[1]).map((_, place) => Object.fromEntries(parts.map(([key, part]) => [key, list(part)[place]])));
}

// A receipt without what is empty in it.
export function said(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null && part !== "" && part !== false && !(typeof part === "object" && Object.keys(part ?? {}).length === 0)));
}

export interface Column { name: string; cell: (row: Json, place: number) => Child; numeric?: boolean }

// A table in a region that scrolls; the first column names the row.
export function grid(label: string, head: Column[], body: Json[], own: (row: Json) => boolean = () => false): HTMLElement {
  if (!body.length) return h("p", { class: "empty" }, "Nothing yet.");
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((column, at) => h("th", { scope: "col", class: at && column.numeric ? "num" : "" }, column.name)))),
    h("tbody", {}, body.slice(0, MAX_ROWS).map((row, place) => h("tr", { class: own(row) ? "own" : "" }, head.map((column, at) =>
      at === 0 ? h("th", { scope: "row", class: column.numeric ? "short" : "" }, column.cell(row, place)) : h("td", { class: column.numeric ? "num" : "" }, column.cell(row, place))))))),
  body.length > MAX_ROWS ? h("p", { class: "aside" }, `${number(MAX_ROWS)} of ${number(body.length)} rows`) : null);
}

// What a cell holds in one run of words: values of a list's rows without their names, of an object with them.
export function inline(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.slice(0, MAX_ROWS).map((part) => (isObject(part) ? Object.values(part).filter((inner) => inner !== null && inner !== "").map((inner) => inline(inner, depth + 1)).join(" ") : inline(part, depth + 1))).join(value.some(isObject) ? "; " : ", ") || "none";
  if (isObject(value)) return Object.entries(value).map(([key, inner]) => `${name(key)} ${inline(inner, depth + 1)}`).join(", ") || "–";
  if (value === null || value === undefined || value === "") return "–";
  return typeof value === "boolean" ? (value ? "yes" : "no") : number(value);
}

function tableOf(label: string, body: Json[], depth: number): HTMLElement {
  // A column in which no row has anything takes room and says nothing.
  const held = (key: string): boolean => body.some((row) => row[key] !== null && row[key] !== undefined && row[key] !== "");
  const keys = [...new Set(body.flatMap((row) => Object.keys(row)))].filter(held).slice(0, MAX_COLUMNS);
  return grid(label, keys.map((key) => {
    const values = body.map((row) => row[key]), numeric = values.some((value) => typeof value === "number") && values.every((value) => value === null || value === undefined || typeof value === "number");
    const as = MINOR.test(key) ? values.map((value) => money(Number(value) / 100)) : numeric ? aligned(values) : [];
    return { name: name(key), numeric, cell: (row, place) => (numeric ? (as[place] ?? "–") : isSingle(row[key]) ? single(key, row[key]) : wordsOf(inline(row[key], depth))) };
  }), body);
}

export function general(value: unknown, depth = 0, label = "answer"): Child {
  if (isSingle(value)) return single(label, value);
  if (depth > MAX_DEPTH) return "…";
  if (Array.isArray(value)) {
    if (value.length === 0) return h("span", { class: "quiet" }, "none");
    if (value.every(isSingle)) return h("span", {}, value.slice(0, MAX_ROWS).map((part, place) => [place ? ", " : "", single(label, part)]), value.length > MAX_ROWS ? ` … (${number(value.length)})` : "");
    return value.every(isObject) ? tableOf(label, value, depth) : h("ul", { class: "links" }, value.slice(0, MAX_ROWS).map((part) => h("li", {}, general(part, depth + 1, label))));
  }
  const together = columns(value as Json), table = together.length ? tableOf(label, columned(Object.fromEntries(together.map((key) => [key, (value as Json)[key]]))), depth) : null;
  const parts = Object.entries(value as Json).filter(([key]) => !together.includes(key)), flat = parts.filter(([, part]) => isSingle(part) || (Array.isArray(part) && part.every(isSingle)));
  const small = flat.length ? h("dl", { class: "grid" }, flat.map(([key, part]) => h("div", {}, h("dt", {}, name(key)), h("dd", {}, general(part, depth + 1, key))))) : null;
  const rest = parts.filter((part) => !flat.includes(part)).map(([key, part]) => (depth < 2 ? h("div", { class: "inner" }, parts.length > 1 ? h("h4", {}, name(key)) : null, general(part, depth + 1, name(key))) : h("p", {}, name(key), ": ", wordsOf(inline(part, depth)))));
  return parts.length || table ? h("div", { class: "general" }, small, table, rest) : h("span", { class: "quiet" }, "nothing");
}



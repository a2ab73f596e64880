// The filter of lists where no server answers: a site's pages. The same language as viewer/filter.py.

import type { Row } from "./listing";

const TERM = /(-?)(?:([a-z]+)(:|<=|>=|=|<|>)("[^"]*"?|\S*)|"([^"]*)"?|(\S+))/g;

type Value = string[] | number | null;
const KEYS: Record<string, (row: Row) => Value> = {
  market: (row) => [row.market], scenario: (row) => [row.scenario], seed: (row) => row.seed, seat: (row) => row.seats, by: (row) => row.players,
  state: (row) => [row.state], end: (row) => [row.end ?? "", row.ended], path: (row) => [row.path], when: (row) => [row.created], events: (row) => row.events, kind: (row) => [row.kind],
  score: (row) => row.judged?.score ?? null, better: (row) => row.judged?.better ?? null, reference: (row) => [row.judged?.reference ?? ""],
  findings: (row) => row.judged?.raised ?? null, others: (row) => row.judged?.others ?? null, mode: (row) => row.judged?.modes ?? [], rule: (row) => row.judged?.modes ?? [], tool: (row) => row.judged?.tools ?? [],
  source: (row) => [row.source], run: (row) => [row.run], passed: (row) => (row.source ? [{ passed: "true", failed: "false", "": "unknown" }[row.passed]] : []),
  calls: (row) => row.judged?.calls ?? null,
  cost: (row) => (row.judged?.cost_usd_micro == null ? null : row.judged.cost_usd_micro / 1e6), check: (row) => [row.judged?.check ?? ""], status: (row) => [row.judged?.status ?? ""],
};

export interface Query { fits: (row: Row) => boolean; problem: string }

export function parsed(text: string): Query {
  const any: ((row: Row) => boolean)[][] = [[]];
  let problem = "";
  for (const [, minus, key, sign, value, quoted, word] of text.matchAll(TERM)) {
    if (word === "or") {
      any.push([]);
      continue;
    }
    const wanted = (key === undefined ? (quoted ?? word ?? "") : (value ?? "").replaceAll('"', "")).toLowerCase(), read = key === undefined ? undefined : KEYS[key];
    if (key !== undefined && !read) problem = `There is no filter key “${key}”; keys are ${Object.keys(KEYS).join(", ")}.`;
    const test = (row: Row): boolean => read ? holds(read(row), sign ?? ":", wanted) : [row.path, row.market, row.scenario, ...row.seats, ...row.players].some((known) => known.toLowerCase().includes(wanted));
    any.at(-1)?.push((row) => test(row) !== (minus === "-"));
  }
  const terms = any.filter((all) => all.length);
  return problem || !terms.length ? { fits: () => true, problem } : { fits: (row) => terms.some((all) => all.every((test) => test(row))), problem };
}

function holds(known: Value, sign: string, wanted: string): boolean {
  if (known === null) return false;
  if (typeof known !== "number") return known.some((text) => (sign === ":" ? text.toLowerCase().includes(wanted) : compared(text.toLowerCase() < wanted, text.toLowerCase() === wanted, sign)));
  const range = /^(-?[\d.]+?)?\.\.(-?[\d.]+)?$/.exec(wanted), value = Number(wanted.replace("$", "") || NaN);
  if (range && (sign === ":" || sign === "=")) return (range[1] === undefined || known >= Number(range[1])) && (range[2] === undefined || known <= Number(range[2]));
  return !Number.isNaN(value) && compared(known < value, known === value, sign === ":" ? "=" : sign);
}

function compared(less: boolean, equal: boolean, sign: string): boolean {
  return sign === "=" ? equal : sign === "<" ? less : sign === "<=" ? less || equal : sign === ">" ? !less && !equal : !less;
}

const ORDERS: Record<string, (row: Row) => string | number | null> = {
  state: (row) => row.state, when: (row) => row.created, scenario: (row) => row.scenario || null, seed: (row) => row.seed, seat: (row) => row.seats.join(", ") || null, by: (row) => row.players.join(", ") || null, run: (row) => row.run || null, result: (row) => row.passed || null, source: (row) => row.source || null,
  score: (row) => row.judged?.score ?? null, better: (row) => row.judged?.better ?? null, findings: (row) => row.judged?.raised ?? null, calls: (row) => row.judged?.calls ?? null, cost: (row) => row.judged?.cost_usd_micro ?? null, check: (row) => row.judged?.check ?? null,
};

// Unknown values last in either direction; equal ones as they came.
export function ordered(rows: Row[], key: string, down: boolean): Row[] {
  const read = ORDERS[key] ?? ((row: Row) => row.created);
  return [...rows].sort((a, b) => {
    const [x, y] = [read(a), read(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  });
}

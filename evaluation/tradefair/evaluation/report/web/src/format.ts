// Numbers and words as people read them. One spelling everywhere, whatever the machine's language is.

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 3 });
const MINUS = /^-/;

// To so many decimals, exact halves away from zero: a number is the decimal that prints it, so that 10.405 is 10.41.
export function nearest(value: number, places: number): number {
  const scaled = Math.round(Number(`${Math.abs(value)}e${places}`));
  // Numbers that print with an exponent of their own are too large, or too small, for a half to show.
  return Number.isNaN(scaled) ? value : Math.sign(value) * Number(`${scaled}e-${places}`) || 0;
}

export function number(value: unknown): string {
  if (typeof value === "number") {
    const whole = Number.isInteger(value) || Math.abs(value) >= 10_000;
    const shown = whole ? WHOLE.format(nearest(value, 0)) : FINE.format(nearest(value, 3));
    return shown.replace(MINUS, "−");
  }
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// The numbers of one column, each written as everywhere else. Blanks as wide as a point and a digit stand in for what a
// number lacks, so that the points of all stand under each other.
export function aligned(values: unknown[]): string[] {
  const texts = values.map((value) => number(value)), places = (text: string): number => text.split(".")[1]?.length ?? 0;
  const most = Math.max(0, ...texts.filter((_, place) => typeof values[place] === "number").map(places));
  return texts.map((text, place) => {
    const lacks = typeof values[place] === "number" ? most - places(text) : 0;
    return `${text}${lacks && lacks === most ? "\u2008" : ""}${"\u2007".repeat(lacks)}`;
  });
}

export function isNumeric(text: string): boolean {
  return /^[+\-−~]?[\d,]+(\.\d+)?%?( (of|to) [+\-−]?[\d,]+(\.\d+)?)?$|^–$/.test(text.trim());
}

export function words(name: string): string {
  return name.replaceAll("_", " ");
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  return count < 1_000_000 ? `${FINE.format(Math.round(count / 100) / 10)} kB` : `${FINE.format(Math.round(count / 1e5) / 10)} MB`;
}

export function seconds(value: number): string {
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${FINE.format(Math.round(value * 1e4) / 10)} ms`;
  if (value < 120) return `${FINE.format(Math.round(value * 10) / 10)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

export function dollars(micro: number): string {
  const places = micro < 10_000 ? 6 : 2;
  return micro === 0 ? "$0" : `$${nearest(micro / 1e6, places).toFixed(places)}`;
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function endWords(reason: string | null): string {
  if (reason === null) return "not finished";
  const [kind, code] = reason.split(":", 2);
  return code ? `${words(code)} (${kind})` : reason;
}

// Numbers as en-GB writes them, for an engine without `Intl`. A module of its own: linkedom asks for it while it loads.

// `toFixed` rounds as Intl does; what is missing are the commas of thousands and the zeros that are left out.
class NumberFormat {
  constructor(_: string, private readonly options: { maximumFractionDigits?: number }) {}

  format(value: number): string {
    const { maximumFractionDigits: most = 3 } = this.options;
    const [whole = "", part = ""] = value.toFixed(most).split(".");
    const digits = part.replace(/0+$/, "");
    return whole.replaceAll(/\B(?=(\d{3})+$)/g, ",") + (digits ? `.${digits}` : "");
  }
}

Object.assign(globalThis, { Intl: { NumberFormat } });

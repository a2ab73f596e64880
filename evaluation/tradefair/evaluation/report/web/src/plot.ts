// How every picture is drawn: one look, and no style element of its own.

import * as Plot from "@observablehq/plot";
import type { Axis } from "./data";
import { visible } from "./dom";

export const MARGIN = 12;
const FONT = { fontFamily: "inherit", fontSize: "11.5px", overflow: "visible" };

// A picture in parts: what the legend explains, and one plot or several small ones; `wide` takes a whole row.
export interface Entry { mark: SVGElement | null; text: string }
export interface Panel { name: string; wide: boolean; width: number; plot: SVGElement }
export interface Drawing { legend: Entry[]; columns: number; panels: Panel[] }

export function unit(axis: Axis): string {
  return visible(axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
}

// An axis begins at zero or says that it does not: lengths and slopes mislead otherwise.
export function fromZero(axis: Axis, [low, high]: [number, number]): string {
  return low > 0 || high < 0 ? `${unit(axis)}, axis does not start at 0` : unit(axis);
}

// Names of an axis, shortened to the room that they have; tips and tables show them whole.
export function cut(room: number): (name: string) => string {
  const most = Math.max(4, Math.floor((room - 10) / 6.4));
  return (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
}

export function drawn(options: Plot.PlotOptions): SVGElement {
  const figure = Plot.plot({ className: "plot", style: FONT, ...options }) as SVGElement;
  // Its own style element would need a hole in the page's policy; report.css says the same.
  for (const style of figure.querySelectorAll("style")) style.remove();
  for (const grid of figure.querySelectorAll("[aria-label$=-grid]")) {
    grid.setAttribute("stroke", "var(--line)");
    grid.setAttribute("stroke-opacity", "1");
  }
  figure.setAttribute("aria-hidden", "true");
  return figure;
}

// How every picture is drawn: one look, and no style element of its own.

import * as Plot from "@observablehq/plot";
import type { Axis } from "./data";
import { visible } from "./dom";

const FONT = { fontFamily: "inherit", fontSize: "11.5px", overflow: "visible" };

export function unit(axis: Axis): string {
  return visible(axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
}

export function drawn(options: Plot.PlotOptions): SVGElement {
  const figure = Plot.plot({ className: "plot", style: FONT, ...options }) as SVGElement;
  // Its own style element would need a hole in the page's policy; report.css says the same.
  for (const style of figure.querySelectorAll("style")) style.remove();
  figure.setAttribute("aria-hidden", "true");
  return figure;
}

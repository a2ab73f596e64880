// A picture as a file of its own: title, legend and plots in one SVG that needs neither page nor style sheet.

import { reading } from "./charts-numbers";
import type { Chart } from "./data";
import { svg, visible } from "./dom";
import { type Drawing, MARGIN } from "./plot";

// Colours by theme, read from report.css when the bundle is made.
declare const THEMES: Record<Theme, Record<string, string>>;
export type Theme = "light" | "dark" | "print";

const FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif";
const COLOURED = ["fill", "stroke", "color"];

function text(content: string, props: Record<string, string | number>): SVGElement {
  const element = svg("text", props);
  element.textContent = visible(content);
  return element;
}

// Lines of at most so many letters, broken between words where there are any.
function wrapped(content: string, most: number): string[] {
  const lines: string[] = [""];
  for (const word of content.split(/\s+/).flatMap((long) => long.match(new RegExp(`.{1,${most}}`, "gu")) ?? [])) {
    const last = lines[lines.length - 1] ?? "";
    if (last && last.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

// The SVG's markup; the same bytes for the same chart, width and theme.
export function picture({ legend, columns, panels }: Drawing, chart: Chart, width: number, theme: Theme): string {
  const parts: SVGElement[] = [];
  let y = 22;
  for (const line of wrapped(visible(chart.title), Math.floor(width / 8.6))) {
    parts.push(text(line, { x: 0, y, "font-size": 15, "font-weight": 650, fill: "var(--ink)" }));
    y += 20;
  }
  y = legendRows(parts, legend, width, y);
  let x = 0, tallest = 0;
  for (const [place, panel] of panels.entries()) {
    const { plot } = panel, height = Number(plot.getAttribute("height"));
    if (panel.name) parts.push(text(panel.name, { x: x + 2, y: y + 12, "font-size": 13, "font-weight": 600, fill: "var(--ink)" }));
    const top = y + (panel.name ? 18 : 0);
    plot.setAttribute("x", String(x));
    plot.setAttribute("y", String(top));
    // Asked for first: Chromium writes an empty `style` where one is removed that was never read.
    for (const name of ["class", "aria-hidden", "style", "font-family"]) if (plot.getAttribute(name) !== null) plot.removeAttribute(name);
    plot.setAttribute("font-size", "11.5");
    plot.setAttribute("overflow", "visible");
    for (const tip of plot.querySelectorAll("[aria-label=tip]")) tip.remove();
    parts.push(plot);
    tallest = Math.max(tallest, top + height - y);
    x += panel.width + MARGIN;
    if (panel.wide || x + (panels[place + 1]?.width ?? width) > width || columns === 1) {
      y += tallest + (panels.length > 1 ? MARGIN : 0);
      x = tallest = 0;
    }
  }
  const height = Math.ceil(y + tallest + 8);
  const title = svg("title", {}), desc = svg("desc", {});
  title.textContent = visible(chart.title);
  desc.textContent = reading(chart).join(" ");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "font-family": FONTS, "font-size": 11.5, color: "var(--quiet)" },
    title, desc, svg("rect", { width, height, fill: "var(--paper)" }), ...parts);
  coloured(root, THEMES[theme]);
  return new XMLSerializer().serializeToString(root);
}

// Rows of marks and their names; returns the height below them.
function legendRows(parts: SVGElement[], legend: Drawing["legend"], width: number, y: number): number {
  let x = 0;
  for (const { mark, text: name } of legend) {
    const [shown = ""] = wrapped(name, Math.floor(width / 7)), wide = (mark ? 24 : 0) + shown.length * 7 + 18;
    if (x > 0 && x + wide > width) {
      x = 0;
      y += 18;
    }
    if (mark) parts.push(svg("g", { transform: `translate(${x} ${y - 11})` }, mark));
    parts.push(text(shown, { x: x + (mark ? 24 : 0), y, "font-size": 13, fill: "var(--ink)" }));
    x += wide;
  }
  return legend.length ? y + 8 : y - 14;
}

// Programs that print know no variables: colours become what they are in the theme.
function coloured(root: SVGElement, theme: Record<string, string>): void {
  for (const element of [root, ...root.querySelectorAll("*")])
    for (const name of COLOURED) {
      const value = element.getAttribute(name);
      if (value) element.setAttribute(name, value.replaceAll("currentColor", theme["--quiet"] ?? "").replaceAll(/var\((--[\w-]+)\)/g, (all, variable: string) => theme[variable] ?? all));
    }
}

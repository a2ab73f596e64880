// The line above everything: what was played, and what can be done with the page.

import type { Opened, PageData } from "./data";
import { button, type Child, h } from "./dom";

const SYSTEM = "(prefers-color-scheme: dark)";
let known: CSSMediaRule[] | null = null;

function save(opened: Opened[]): void {
  const content = JSON.stringify(opened.map((episode) => ({ ...episode.page.verdict, name: episode.page.name })), null, 1);
  const address = URL.createObjectURL(new Blob([content], { type: "application/json" }));
  h("a", { href: address, download: "verdict.json" }).click();
  URL.revokeObjectURL(address);
}

// The rule of the style sheet that asks the system is told the answer instead: the colours stand there once.
function turn(): void {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule instanceof CSSMediaRule);
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (known === null && matchMedia(SYSTEM).matches);
  known ??= rules.filter((rule) => rule.media.mediaText === SYSTEM);
  for (const rule of known) rule.media.mediaText = dark ? "not all" : "screen";
  document.documentElement.style.colorScheme = dark ? "light" : "dark";
  dispatchEvent(new Event("themechange"));
}

export function strip(name: Child, data: PageData, opened: Opened[], ...more: Child[]): HTMLElement {
  return h("div", { class: "strip" },
    h("p", {}, data.live.length ? h("a", { href: "/", class: "back" }, "All traces") : h("b", {}, "tradefair"), h("span", {}, " · "), name),
    h("nav", { "aria-label": "Page" }, more,
      button("JSON", () => save(opened), { class: "link", "aria-label": "Save the verdict as JSON" }), button("print", () => print(), { class: "link" }),
      button("◐", turn, { class: "link", "aria-label": "Light or dark" })));
}

// Elements without markup: every text, whoever wrote it, becomes a text node.

// Characters that hide, reorder or break text: controls but tab and line feed, zero-width and bidirectional controls,
// separators, tags. Fonts lack the symbols that Unicode has for some of them, so all are named by their numbers.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

// The same text with every such character as a symbol.
export function visible(text: string): string {
  return text.replace(HIDDEN, (letter) => `⟦U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

export type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

function fill(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) fill(parent, child);
    else parent.appendChild(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
}

// `on…` adds a listener, `class` and everything else an attribute; true is the bare attribute, false and null none.
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K, props: Props = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(key, key === "title" || key === "aria-label" ? visible(String(value)) : String(value));
  }
  fill(element, children);
  return element;
}

// Text of unknown direction and origin, kept from reordering what stands beside it.
export function foreign(text: string): HTMLElement {
  return h("bdi", {}, text);
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  fill(element, children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name: string, props: Record<string, string | number>, ...children: SVGElement[]): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(props)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

export function button(label: Child, act: () => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick: act, ...props }, label);
}

let nextId = 0;
export function freshId(stem: string): string {
  nextId += 1;
  return `${stem}-${nextId}`;
}

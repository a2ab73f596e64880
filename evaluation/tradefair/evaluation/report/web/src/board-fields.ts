// Fields made from a JSON Schema: what a tool takes, with its bounds, as controls that say in words what is wrong.

import { button, type Child, freshId, h } from "./dom";
import { number, words } from "./format";
import { amount, field, list, rows, text } from "./board-data";
import { isObject, type Json } from "./peer";

// What a field holds, nothing when it was left blank, or why it holds nothing.
export interface Held { value?: unknown; problem?: string; at?: HTMLElement }
export interface Field { element: HTMLElement; read: () => Held; set: (value: unknown) => void }
export interface Choice { value: string; label: string }
// Known values of parameters, by the parameter's name: ids that a seat would otherwise copy.
export type Choices = (parameter: string) => Choice[];

const LINE_CHARS = 160, MAX_CHECKED = 400;

export function begun(name: string): string {
  const spaced = words(name);
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

// A schema without references and without its null branch: left out is how nothing is said.
function plain(schema: unknown, root: Json): Json {
  if (!isObject(schema)) return {};
  const reference = text(schema["$ref"]).match(/^#\/\$defs\/(.+)$/)?.[1];
  if (reference) return { ...plain(field(root, "$defs", reference), root), ...without(schema, "$ref") };
  const [branch] = rows(schema["anyOf"]).filter((option) => option["type"] !== "null");
  return branch ? { ...plain(branch, root), ...without(schema, "anyOf") } : schema;
}

function without(schema: Json, name: string): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== name));
}

// The bounds of a schema in words, after its own description.
function bounds(schema: Json): string {
  const low = amount(schema["minimum"]) ?? amount(schema["exclusiveMinimum"]), high = amount(schema["maximum"]), most = amount(schema["maxLength"]);
  const kind = schema["type"] === "integer" && !text(schema["description"]).includes("whole") ? "whole" : "";
  const above = amount(schema["exclusiveMinimum"]) === null ? "" : "above ";
  // A bound far above every scenario says nothing to a person.
  const range = low === null ? "" : high === null || high >= 1_000_000 ? `${above || "at least "}${number(low)}` : `${above}${number(low)} to ${number(high)}`;
  const length = schema["type"] === "string" && most !== null && most > LINE_CHARS ? `at most ${number(most)} characters` : "";
  return [text(schema["description"]), [kind, range].filter(Boolean).join(", "), length].filter(Boolean).join("; ");
}

interface Place { name: string; schema: Json; root: Json; required: boolean; choices: Choices }

function labelled(place: Place, control: HTMLElement, more: Child = null): HTMLElement {
  const hint = bounds(place.schema), id = control.id || freshId("field");
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, begun(place.name), place.required ? null : h("span", { class: "optional" }, " (optional)")), control, more,
    hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null);
}

function blank(place: Place, control: HTMLElement): Held {
  return place.required ? { problem: `${begun(place.name)} is needed.`, at: control } : {};
}

// A control's own check, in its own words where it has some.
function checked(place: Place, control: HTMLInputElement | HTMLTextAreaElement, value: unknown): Held {
  if (control.checkValidity()) return { value };
  return { problem: `${begun(place.name)}: ${bounds(place.schema) || control.validationMessage}.`, at: control };
}

function numeric(place: Place): Field {
  const { schema } = place, whole = schema["type"] === "integer", standard = amount(schema["default"]);
  const control = h("input", {
    type: "number", inputmode: whole ? "numeric" : "decimal", step: whole ? 1 : "any", autocomplete: "off",
    min: amount(schema["minimum"]) ?? amount(schema["exclusiveMinimum"]), max: amount(schema["maximum"]), placeholder: standard === null ? "" : String(standard),
  });
  const read = (): Held => {
    if (control.value === "" && !control.validity.badInput) return blank(place, control);
    return checked(place, control, Number(control.value));
  };
  return { element: labelled(place, control), read, set: (value) => void (control.value = value === undefined ? "" : String(value)) };
}

function written(place: Place): Field {
  const { schema } = place, most = amount(schema["maxLength"]) ?? Infinity, pattern = text(schema["pattern"]);
  const names = place.choices(place.name), long = most > LINE_CHARS && !pattern && names.length === 0;
  const options = h("datalist", { id: freshId("names") });
  const look = { maxlength: Number.isFinite(most) ? most : null, autocomplete: "off", spellcheck: long ? "true" : "false" };
  const control = long ? h("textarea", { rows: 2, ...look }) : h("input", { type: "text", pattern: pattern || null, list: options.id, ...look });
  // Known values change as the market goes on.
  control.addEventListener("focus", () => options.replaceChildren(...place.choices(place.name).map((choice) => h("option", { value: choice.value }, choice.label))));
  const read = (): Held => {
    // Empty text is an answer where the schema allows it: silence, no slogan.
    if (control.value === "") return place.required && !(amount(schema["minLength"]) ?? 0) && !pattern ? { value: "" } : blank(place, control);
    return checked(place, control, control.value);
  };
  return { element: labelled(place, control, long ? null : options), read, set: (value) => void (control.value = text(value)) };
}

function chosen(place: Place, values: unknown[]): Field {
  const first = place.required ? [] : [h("option", { value: "" }, "–")];
  const control = h("select", {}, first, values.map((value) => h("option", { value: String(value) }, words(String(value)))));
  const read = (): Held => (control.value === "" ? {} : { value: values.find((value) => String(value) === control.value) });
  return { element: labelled(place, control), read, set: (value) => void (control.value = value === undefined ? (place.required ? String(values[0]) : "") : String(value)) };
}

function ticked(place: Place): Field {
  const control = h("input", { type: "checkbox", id: freshId("field") });
  return { element: h("div", { class: "field tick" }, control, h("label", { for: control.id }, begun(place.name))), read: () => (control.checked ? { value: true } : {}), set: (value) => void (control.checked = value === true) };
}

// Several texts or numbers: boxes to tick where the values are known, else one line each.
function several(place: Place, item: Json): Field {
  const known = item["type"] === "string" ? place.choices(place.name) : [], least = amount(place.schema["minItems"]) ?? 0;
  if (known.length && known.length <= MAX_CHECKED) {
    const boxes = known.map((choice) => ({ choice, box: h("input", { type: "checkbox", id: freshId("pick") }) }));
    const all = h("div", { class: "picks", role: "group", "aria-label": begun(place.name), tabindex: -1 }, boxes.map(({ choice, box }) => h("div", {}, box, h("label", { for: box.id }, choice.label))));
    const read = (): Held => {
      const value = boxes.filter(({ box }) => box.checked).map(({ choice }) => choice.value);
      return value.length >= Math.max(least, place.required ? 0 : 1) ? { value } : blank(place, all);
    };
    return { element: h("div", { class: "field" }, h("span", { class: "label" }, begun(place.name)), all), read, set: (value) => boxes.forEach(({ choice, box }) => void (box.checked = list(value).includes(choice.value))) };
  }
  const control = h("textarea", { rows: 2, spellcheck: "false", placeholder: "one per line" });
  const read = (): Held => {
    const lines = control.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (lines.length === 0) return place.required && least === 0 ? { value: [] } : blank(place, control);
    const value = item["type"] === "string" ? lines : lines.map(Number);
    return value.some((entry) => Number.isNaN(entry)) ? { problem: `${begun(place.name)}: one number per line.`, at: control } : { value };
  };
  return { element: labelled(place, control), read, set: (value) => void (control.value = list(value).join("\n")) };
}

// Lines of several parameters each, such as bids. A line whose numbers are blank is left out.
function lines(place: Place, item: Json): Field {
  const body = h("div", { class: "lines" }), open: { element: HTMLElement; fields: [string, Field][] }[] = [];
  const parts = Object.entries(field(item, "properties") ?? {}).map(([name, schema]) => ({ name, schema: plain(schema, place.root) }));
  const numbers = new Set(parts.filter(({ schema }) => schema["type"] === "integer" || schema["type"] === "number").map(({ name }) => name));
  const add = (value: Json = {}): void => {
    const made = parts.map(({ name, schema }): [string, Field] => [name, fieldOf({ ...place, name, schema, required: list(item["required"]).includes(name) })]);
    for (const [name, part] of made) if (value[name] !== undefined) part.set(value[name]);
    const away = button("×", () => {
      open.splice(open.findIndex((line) => line.fields === made), 1);
      line.remove();
      more.focus();
    }, { class: "away", "aria-label": "Remove this line" });
    const line = h("div", { class: "line" }, made.map(([, part]) => part.element), away);
    open.push({ element: line, fields: made });
    body.append(line);
  };
  const more = button("+ line", () => {
    add();
    open.at(-1)?.element.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, { class: "link" });
  const read = (): Held => {
    const value: Json[] = [];
    for (const { fields } of open) {
      const held = fields.map(([name, part]) => ({ name, ...part.read() }));
      if (held.every((part) => part.value === undefined || part.value === "" || (numbers.size > 0 && !numbers.has(part.name)))) continue;
      const wrong = held.find((part) => part.problem !== undefined);
      if (wrong) return wrong;
      value.push(Object.fromEntries(held.filter((part) => part.value !== undefined).map((part) => [part.name, part.value])));
    }
    if (value.length || (place.required && !(amount(place.schema["minItems"]) ?? 0))) return { value };
    return place.required ? { problem: `${begun(place.name)}: at least one line.`, at: more } : {};
  };
  const set = (value: unknown): void => {
    open.length = 0;
    body.replaceChildren();
    const given = rows(value);
    for (const line of given.length ? given : place.required ? [{}] : []) add(line);
  };
  set(undefined);
  return { element: h("div", { class: "field wide", role: "group", "aria-label": begun(place.name) }, h("span", { class: "label" }, begun(place.name)), body, more), read, set };
}

function nested(place: Place): Field {
  const inner = fieldsOf(place.schema, place.root, place.choices);
  const element = h("details", { class: "field wide" }, h("summary", {}, begun(place.name)), h("div", { class: "form" }, inner.fields.map(([, part]) => part.element)));
  if (place.required) element.open = true;
  const read = (): Held => {
    const held = inner.read();
    if (held.problem !== undefined || place.required) return held;
    return isObject(held.value) && Object.keys(held.value).length ? held : {};
  };
  return { element, read, set: inner.set };
}

function fieldOf(place: Place): Field {
  const { schema } = place, type = schema["type"], values = list(schema["enum"]);
  if (values.length) return chosen(place, values);
  if (type === "integer" || type === "number") return numeric(place);
  if (type === "boolean") return ticked(place);
  if (type === "object" && isObject(schema["properties"])) return nested(place);
  if (type === "array") {
    const item = plain(schema["items"], place.root);
    return item["type"] === "object" ? lines(place, item) : several(place, item);
  }
  return type === "string" ? written(place) : unread(place);
}

// Anything else that a stranger's tool may take, as JSON.
function unread(place: Place): Field {
  const control = h("textarea", { rows: 2, spellcheck: "false", placeholder: "JSON" });
  const read = (): Held => {
    if (control.value.trim() === "") return blank(place, control);
    try {
      return { value: JSON.parse(control.value) as unknown };
    } catch {
      return { problem: `${begun(place.name)} is no JSON.`, at: control };
    }
  };
  return { element: labelled(place, control), read, set: (value) => void (control.value = value === undefined ? "" : JSON.stringify(value)) };
}

// All fields of an object: name, field, and whether it stands first. Words that may be empty stand with what is needed.
export function fieldsOf(schema: Json, root: Json, choices: Choices, leave: string[] = []): { fields: [string, Field, boolean][]; read: () => Held; set: (value: unknown) => void } {
  const needed = list(schema["required"]);
  const fields = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {}).filter(([name]) => !leave.includes(name))
    .map(([name, part]): [string, Field, boolean] => [name, fieldOf({ name, schema: plain(part, root), root, required: needed.includes(name), choices }), needed.includes(name) || field(part, "default") === ""])
    .sort(([, , a], [, , b]) => Number(b) - Number(a));
  const read = (): Held => {
    const value: Json = {};
    for (const [name, part] of fields) {
      const held = part.read();
      if (held.problem !== undefined) return held;
      if (held.value !== undefined) value[name] = held.value;
    }
    return { value };
  };
  return { fields, read, set: (value) => fields.forEach(([name, part]) => part.set(field(value, name))) };
}

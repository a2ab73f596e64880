// What a bare engine lacks and the pictures need: a document. Imported first.

import "./prep-numbers";
import { parseHTML } from "linkedom";

const { document, window, Node, Element, SVGElement } = parseHTML("<!doctype html><html><body></body></html>") as unknown as Record<string, unknown>;
Object.assign(globalThis, { document, window, Node, Element, SVGElement });

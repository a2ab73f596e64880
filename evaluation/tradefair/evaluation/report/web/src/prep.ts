// What a bare engine lacks and the pictures need: a document. Imported first.

import "./prep-numbers";
import { parseHTML } from "linkedom";

const { document, window, Node, Element, SVGElement } = parseHTML("<!doctype html><html><body></body></html>") as unknown as Record<string, unknown>;

// linkedom writes well-formed elements, but no name space, which browsers add.
class XMLSerializer {
  serializeToString(node: object): string {
    return String(node).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
  }
}

Object.assign(globalThis, { document, window, Node, Element, SVGElement, XMLSerializer });

// JSON-RPC between two windows by postMessage: the protocol of MCP Apps, either half. The official library would bring
// 650 kB of schemas along; tests hold this one against its bridge.

export type Json = Record<string, unknown>;
type Handler = (params: Json) => unknown;
interface Waiting { resolve: (result: Json) => void; reject: (reason: Error) => void }

const NO_METHOD = -32601, FAILED = -32603;
export const UI_VERSION = "2026-01-26";

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export class Peer {
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  // `handlers` answer requests and take notifications, by method; whatever else is asked for is refused.
  constructor(private readonly other: () => Window | null, private readonly handlers: Record<string, Handler>) {
    addEventListener("message", (event) => {
      // Any window may send messages: only those of the one partner count.
      if (event.source !== null && event.source === this.other() && isObject(event.data)) void this.take(event.data);
    });
  }

  request(method: string, params: Json): Promise<Json> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  notify(method: string, params: Json = {}): void {
    this.send({ method, params });
  }

  private send(message: Json): void {
    // A sandboxed frame has no origin that could be named; the window is the address.
    this.other()?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  private async take({ id, method, params, result, error }: Json): Promise<void> {
    if (typeof method !== "string") {
      const waiting = typeof id === "number" ? this.waiting.get(id) : undefined;
      if (!waiting) return;
      this.waiting.delete(id as number);
      if (isObject(error)) waiting.reject(new Error(String(error["message"] ?? "the host refused")));
      else waiting.resolve(isObject(result) ? result : {});
      return;
    }
    const handler = Object.hasOwn(this.handlers, method) ? this.handlers[method] : undefined;
    try {
      const answer = await handler?.(isObject(params) ? params : {});
      if (id !== undefined) this.send(handler ? { id, result: answer ?? {} } : { id, error: { code: NO_METHOD, message: `there is no ${method}` } });
    } catch (failure) {
      if (id !== undefined) this.send({ id, error: { code: FAILED, message: failure instanceof Error ? failure.message : "failed" } });
    }
  }
}

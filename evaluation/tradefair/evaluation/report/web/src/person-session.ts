// One MCP session over streamable HTTP: just what a page on this machine needs of it.

import { isObject, type Json } from "./peer";

const PROTOCOL = "2025-11-25", UI_EXTENSION = "io.modelcontextprotocol/ui", UI_TYPE = "text/html;profile=mcp-app";
const WAIT_MS = [500, 1_000, 2_000, 4_000];

// The token does not open this seat: nothing that is tried again will help.
export class Refused extends Error {}
// No answer, or one that says to come back.
export class Away extends Error {}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// The message that answers `id` among the events of a stream.
async function fromStream(response: Response, id: number): Promise<unknown> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
    held += value ?? "";
    const events = held.split(/\r?\n\r?\n/);
    held = events.pop() ?? "";
    for (const event of done ? [...events, held] : events) {
      const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, "")).join("\n");
      const message: unknown = data ? JSON.parse(data) : null;
      if (isObject(message) && message["id"] === id) {
        void reader?.cancel();
        return message;
      }
    }
    if (done) throw new Away("the answer broke off");
  }
}

export class Session {
  instructions = "";
  private session: string | null = null;
  private opening: Promise<void> | null = null;
  private last = 0;

  constructor(private readonly token: string) {}

  async open(): Promise<void> {
    this.opening ??= this.greet().finally(() => (this.opening = null));
    await this.opening;
  }

  // A request in the session, a new one where the host has forgotten it; waits a few seconds for a host that restarts.
  async request(method: string, params: Json): Promise<Json> {
    for (const wait of [...WAIT_MS, 0]) {
      try {
        if (this.session === null) await this.open();
        return await this.post(method, params);
      } catch (failure) {
        if (!(failure instanceof Away) || wait === 0) throw failure;
        await later(wait);
      }
    }
    throw new Away("the host does not answer");
  }

  private async greet(): Promise<void> {
    this.session = null;
    const capabilities = { extensions: { [UI_EXTENSION]: { mimeTypes: [UI_TYPE] } } };
    const answer = await this.post("initialize", { protocolVersion: PROTOCOL, capabilities, clientInfo: { name: "tradefair-person", title: "Person at the board", version: "1" } });
    this.instructions = typeof answer["instructions"] === "string" ? answer["instructions"] : "";
    await this.send({ method: "notifications/initialized" });
  }

  private async send(message: Json): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.token}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
    if (this.session !== null) Object.assign(headers, { "mcp-session-id": this.session, "mcp-protocol-version": PROTOCOL });
    const response = await fetch("/mcp", { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) }).catch(() => {
      throw new Away("the host does not answer");
    });
    if (response.status === 401 || response.status === 403) throw new Refused("the host refuses this token");
    if (response.status === 404 && this.session !== null) {
      // A host that was started again knows no session of before.
      this.session = null;
      throw new Away("the host has forgotten this session");
    }
    if (response.status >= 429) throw new Away(`the host answers ${response.status}`);
    this.session = response.headers.get("mcp-session-id") ?? this.session;
    return response;
  }

  private async post(method: string, params: Json): Promise<Json> {
    const id = ++this.last, response = await this.send({ id, method, params });
    const stream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    const message: unknown = stream ? await fromStream(response, id) : await response.json().catch(() => null);
    if (isObject(message) && isObject(message["error"])) throw new Error(String(message["error"]["message"] ?? "refused"));
    if (!isObject(message) || !isObject(message["result"])) throw new Away(`the host answers ${response.status}`);
    return message["result"];
  }
}

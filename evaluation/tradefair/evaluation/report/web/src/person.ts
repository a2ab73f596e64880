// The page of `play --agent person`: a host of MCP Apps for the one board of one seat. It holds the session and its token;
// the board runs in a frame that has neither.

import { field, text } from "./board-data";
import { type Child, foreign, h, replace } from "./dom";
import { isObject, type Json, Peer, UI_VERSION } from "./peer";
import { Away, Refused, Session } from "./person-session";

const KEEP = "tradefair-token", MAX_HEIGHT = 40_000;

// The token of the address, which then no longer shows it; a reload of this tab finds it again.
function taken(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) sessionStorage.setItem(KEEP, given);
  history.replaceState(null, "", location.pathname);
  return given ?? sessionStorage.getItem(KEEP) ?? "";
}

class Page {
  private readonly session: Session;
  private readonly state = h("p", { class: "live", role: "status" }, "Connecting …");
  private readonly brief = h("details", { class: "part", hidden: true, open: true }, h("summary", {}, h("h2", {}, "What you are here for")));
  private readonly frame = h("iframe", { sandbox: "allow-scripts", title: "Board of your seat", hidden: true, referrerpolicy: "no-referrer" });
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private over = false;

  constructor(token: string) {
    this.session = new Session(token);
    replace(document.getElementById("app") ?? document.body, h("main", { class: "person" }, this.state, this.brief, this.frame));
    const peer: Peer = new Peer(() => this.frame.contentWindow, {
      "ui/initialize": () => ({
        protocolVersion: UI_VERSION, hostInfo: { name: "tradefair-person", version: "1" }, hostCapabilities: { serverTools: {}, serverResources: {} },
        hostContext: { theme: this.theme(), displayMode: "inline", platform: "web" },
      }),
      "ui/notifications/initialized": () => undefined,
      "ui/notifications/size-changed": (size) => {
        const height = Number(size["height"]);
        if (height > 0) this.frame.style.height = `${Math.min(MAX_HEIGHT, Math.ceil(height))}px`;
      },
      "tools/call": (params) => this.passed("tools/call", params),
      "resources/read": (params) => this.passed("resources/read", params),
      ping: () => ({}),
    });
    this.dark.addEventListener("change", () => peer.notify("ui/notifications/host-context-changed", { theme: this.theme() }));
  }

  async start(): Promise<void> {
    try {
      await this.session.request("ping", {});
    } catch (failure) {
      this.told(failure);
      if (failure instanceof Away) setTimeout(() => void this.start(), 2_000);
      return;
    }
    this.live();
    this.brief.hidden = !this.session.instructions;
    // What is said of `await_turn` and `_meta` is for programs: this page waits by itself.
    const brief = this.session.instructions.split("\n\n").filter((paragraph) => !paragraph.includes("await_turn"));
    this.brief.append(h("pre", { class: "words", dir: "auto" }, brief.join("\n\n")));
    // From its own address and not by its text: it then has its own policy and not this page's.
    this.frame.src = "/board.html";
    this.frame.hidden = false;
  }

  private theme(): string {
    return this.dark.matches ? "dark" : "light";
  }

  private live(): void {
    this.say("Connected.");
  }

  private say(...message: Child[]): void {
    const now = h("span", {}, ...message);
    if (now.textContent !== this.state.textContent) replace(this.state, now);
  }

  private async passed(method: string, params: Json): Promise<Json> {
    try {
      const result = await this.session.request(method, params);
      const state = result["structuredContent"];
      if (params["name"] === "board_state" && isObject(state)) this.follow(state);
      return result;
    } catch (failure) {
      this.told(failure);
      throw failure;
    }
  }

  private follow(state: Json): void {
    const report = text(state["report"]);
    this.over = state["over"] === true;
    if (this.over) this.say("The episode is over. ", report ? ["The report: ", h("code", {}, foreign(report))] : "The terminal says where its report is.");
    else this.live();
    document.title = field(state, "turn", "awaited") === true && !this.over ? "Your turn · tradefair" : "tradefair";
  }

  private told(failure: unknown): void {
    if (failure instanceof Refused) {
      sessionStorage.removeItem(KEEP);
      this.frame.remove();
      this.say("The host refuses this token. Open the address that the terminal has printed; every start of play prints a new one.");
      // What plays ends with its episode, and its host with it.
    } else if (failure instanceof Away && !this.over) this.say("The host does not answer; trying again. It may have ended: the terminal says so.");
  }
}

const token = taken();
if (token) void new Page(token).start();
else replace(document.getElementById("app") ?? document.body, h("main", { class: "person" }, h("p", { class: "warning" }, "There is no token in this address. Open the address that play has printed, with all of what follows the #.")));

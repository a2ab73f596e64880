// A host of MCP Apps as a page: the official bridge and the official client, over the seat whose token it is given.

import { AppBridge, PostMessageTransport, getToolUiResourceUri, isToolVisibilityAppOnly } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const UI = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
const said = { tools: [], appOnly: [], sizes: [], csp: null, torn: false };
let bridge, client, frame;

async function open(token, theme, capabilities = { serverTools: {}, serverResources: {} }) {
  client = new Client({ name: "fake-host", version: "1" }, { capabilities: { extensions: UI } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  said.tools = tools.filter((tool) => getToolUiResourceUri(tool)).map((tool) => tool.name);
  said.appOnly = tools.filter((tool) => isToolVisibilityAppOnly(tool)).map((tool) => tool.name);
  const tool = tools.find((one) => one.name === "view_turn");
  const { contents: [page] } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  said.csp = page._meta?.ui?.csp ?? null;
  frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  document.body.append(frame);
  const context = { theme, displayMode: "inline", toolInfo: { tool }, containerDimensions: { maxWidth: innerWidth, maxHeight: 4000 } };
  bridge = new AppBridge(client, { name: "fake-host", version: "1" }, capabilities, { hostContext: context });
  bridge.addEventListener("sizechange", ({ height }) => {
    said.sizes.push(height);
    frame.style.height = `${height}px`;
  });
  const ready = new Promise((resolve) => bridge.addEventListener("initialized", resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  // As hosts do: the page's text, under the policy of the page that holds it.
  frame.srcdoc = page.text;
  await ready;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(await client.callTool({ name: "view_turn", arguments: {} }));
}

Object.assign(globalThis, {
  said, open,
  theme: (theme) => bridge.setHostContext({ theme, displayMode: "inline" }),
  // What a model in the chat did, told to the page: its result is the page's to show.
  pushed: (result) => bridge.sendToolResult(result),
  // The same, as the answer of one tool: whatever a market, or who stands in its place, may say.
  answered: async (name, content) => {
    const { tools } = await client.listTools();
    bridge.setHostContext({ toolInfo: { tool: tools.find((tool) => tool.name === name) } });
    await bridge.sendToolResult({ content: [], structuredContent: content });
  },
  chat: async (name, given) => {
    const { tools } = await client.listTools();
    bridge.setHostContext({ toolInfo: { tool: tools.find((tool) => tool.name === name) } });
    await bridge.sendToolResult(await client.callTool({ name, arguments: given }));
  },
  tear: async () => { said.torn = (await bridge.teardownResource({})) !== undefined; },
});

// OpenAI's Agents SDK for JavaScript: its agent and runner, over the Responses API.
import { headers, prompt, server, url } from './seat.mjs';
import { Agent, MCPServerStdio, MCPServerStreamableHttp, run, setTracingDisabled } from '@openai/agents';

setTracingDisabled(true);
const market = url ? new MCPServerStreamableHttp({ url, requestInit: { headers } }) : new MCPServerStdio(server);
await market.connect();
// The default of ten turns is a limit on models, not on servers.
await run(new Agent({ name: 'trader', model: 'gpt-5', mcpServers: [market] }), prompt, { maxTurns: 40 });
await market.close();

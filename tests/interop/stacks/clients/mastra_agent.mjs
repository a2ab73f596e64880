// Mastra's agent with its MCP client.
import { headers, prompt, server, url } from './seat.mjs';
import { Agent } from '@mastra/core/agent';
import { MCPClient } from '@mastra/mcp';

const market = url ? { url: new URL(url), requestInit: { headers } } : server;
const client = new MCPClient({ servers: { market } });
const model = { id: 'openai/gpt-4o', url: process.env.OPENAI_BASE_URL, apiKey: 'none' };
const agent = new Agent({ id: 'trader', name: 'trader', instructions: '', model, tools: await client.listTools() });
// The default of five steps is a limit on models, not on servers.
await agent.generate(prompt, { maxSteps: 40 });
await client.disconnect();

// Vercel's AI SDK: its tool loop agent over the Responses API, with the tools of @ai-sdk/mcp.
import { prompt, server, url } from './seat.mjs';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { openai } from '@ai-sdk/openai';
import { ToolLoopAgent, isStepCount } from 'ai';

const client = await createMCPClient({ transport: url ? { type: 'http', ...server } : new StdioTransport(server) });
// The default of twenty steps is a limit on models, not on servers.
await new ToolLoopAgent({ model: openai('gpt-5'), tools: await client.tools(), stopWhen: isStepCount(40) }).generate({ prompt });
await client.close();

// LangChain.js: its agent with the tools of @langchain/mcp-adapters.
import { prompt, server } from './seat.mjs';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { createAgent } from 'langchain';

const client = new MultiServerMCPClient({ market: server });
const agent = createAgent({ model: 'openai:gpt-4o', tools: await client.getTools() });
// The default recursion limit is a limit on models, not on servers.
await agent.invoke({ messages: [{ role: 'user', content: prompt }] }, { recursionLimit: 100 });
await client.close();

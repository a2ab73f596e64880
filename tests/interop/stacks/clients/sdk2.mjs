// The official TypeScript SDK, second generation.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { headers, play, server, url } from './seat.mjs';

const transport = url
  ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  : new StdioClientTransport(server);
await play(new Client({ name: 'sdk2', version: '2' }), transport);

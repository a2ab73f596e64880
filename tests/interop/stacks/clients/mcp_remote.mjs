// mcp-remote, the bridge that desktop clients without URL support start, under a client of the first generation.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { headers, play, url } from './seat.mjs';

const args = ['node_modules/.bin/mcp-remote', url, '--transport', 'http-only', '--header', 'Authorization:${SEAT_AUTHORIZATION}'];
const env = { ...process.env, SEAT_AUTHORIZATION: headers.Authorization };
await play(new Client({ name: 'under-mcp-remote', version: '1' }), new StdioClientTransport({ command: 'node', args, env }));

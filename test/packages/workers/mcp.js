// Both server packages of the Model Context Protocol, stateless. Run by test/integration/packages.test.ts.
import { McpServer as SdkServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

function add(server) {
  server.registerTool(
    'add',
    { description: 'adds', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
    }),
  );
  return server;
}
const handler = createMcpHandler(() => add(new McpServer({ name: 'v2', version: '1.0.0' })));

export default {
  async fetch(request) {
    if (new URL(request.url).pathname === '/v2') return handler.fetch(request);
    const server = new SdkServer({ name: 'v1', version: '1.0.0' });
    server.registerTool(
      'add',
      { description: 'adds', inputSchema: { a: z.number(), b: z.number() } },
      async ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }],
      }),
    );
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: true,
    });
    await server.connect(transport);
    return transport.handleRequest(request);
  },
};

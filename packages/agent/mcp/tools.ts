// Tools of installed MCP servers: each as `mcp__<server>__<tool>`, and all through `mcp_call_tool`.
import { builtIn, toolError, type InnerContext, type ReadyTool } from '../tools/tool.ts';
import type { McpServer } from '../workspace-types.ts';
import { Superseded } from '../workspaces.ts';
import { callMcpTool } from './client.ts';
import { callManifestTool } from './manifest.ts';

/** Tools listed individually to a model; others are reached through `mcp_call_tool`. */
const DIRECT_MAX = 256;
const ERROR_CHARS_MAX = 1000;

const callTool = builtIn({
  name: 'mcp_call_tool',
  description: 'Calls a tool of an installed MCP server.',
  parameters: {
    type: 'object',
    properties: { server: { type: 'string' }, tool: { type: 'string' }, arguments: { type: 'object' } },
    required: ['server', 'tool'],
  },
  async execute({ server: name, tool, arguments: args }, ctx) {
    const { mcpServers } = await ctx.read();
    const server = mcpServers.find((installed) => installed.name === name);
    if (server === undefined) throw toolError(`MCP server "${name}" is not installed`);
    return call(server, tool, args, ctx);
  },
});

/** The tools of servers; empty if no server is installed. */
export function mcpTools(servers: readonly McpServer[]): ReadyTool[] {
  if (servers.length === 0) return [];
  const direct = new Map<string, ReadyTool>();
  for (const server of servers)
    for (const { name, description, parameters } of server.tools) {
      const exposed = `mcp__${server.name}__${name}`.replace(/[^A-Za-z0-9_-]/g, '_');
      if (exposed.length > 64 || direct.has(exposed) || direct.size >= DIRECT_MAX) continue;
      direct.set(exposed, {
        ...callTool,
        name: exposed,
        description,
        parameters,
        kind: 'mcp',
        check: async (args) => args,
        execute: (args, ctx) => call(server, name, args, ctx),
      });
    }
  return [callTool, ...direct.values()];
}

async function call(server: McpServer, tool: string, args: unknown, ctx: InnerContext): Promise<string> {
  if (!server.tools.some(({ name }) => name === tool))
    throw toolError(`The MCP server "${server.name}" has no tool "${tool}"`);
  const note = (change: (installed: McpServer) => void): Promise<void> =>
    ctx.change(({ mcpServers }) => {
      const installed = mcpServers.find(({ name, url }) => name === server.name && url === server.url);
      if (installed !== undefined) change(installed);
    });
  const keep = (sessionId: string | undefined): Promise<void> =>
    note((installed) => {
      if (sessionId === undefined) delete installed.sessionId;
      else installed.sessionId = sessionId;
    });
  try {
    const result =
      server.transport === 'manifest'
        ? await callManifestTool(server, tool, args, ctx.idempotencyKey)
        : await callMcpTool(server, tool, args, keep);
    if (server.lastError !== undefined) await note((installed) => delete installed.lastError);
    return result;
  } catch (error) {
    if (error instanceof Superseded) throw error;
    const lastError = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARS_MAX);
    await note((installed) => void (installed.lastError = lastError));
    // Protocol servers have no idempotency keys: a call that may have run is not repeated.
    throw server.transport === 'manifest' ? error : toolError(lastError);
  }
}

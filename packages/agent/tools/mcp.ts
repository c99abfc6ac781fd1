// Tools of installed MCP servers: each as `mcp__<server>__<tool>`, and all through `mcp_call_tool`.
import { callManifestTool } from '../mcp-manifest.ts';
import type { McpServer } from '../workspace-types.ts';
import { builtIn, ToolError, type InnerContext, type ReadyTool } from './tool.ts';

/** Tools that a model is told of one by one; the rest is reached through `mcp_call_tool`. */
const DIRECT_MAX = 256;

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
    if (server === undefined) throw new ToolError(`MCP server "${name}" is not installed`);
    return call(server, tool, args, ctx);
  },
});

/** The tools of servers; none when nothing is installed. */
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

function call(server: McpServer, tool: string, args: unknown, ctx: InnerContext): Promise<string> {
  if (!server.tools.some(({ name }) => name === tool))
    throw new ToolError(`The MCP server "${server.name}" has no tool "${tool}"`);
  return callManifestTool(server, tool, args, ctx.idempotencyKey);
}

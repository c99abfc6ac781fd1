// The tools of a server, within limits: they go into every prompt and into the workspace. Called by manifest.ts and
// client.ts.
import type { McpServer, McpTool } from '../workspace-types.ts';

/** Name and tools of a server. */
export type Found = Omit<McpServer, 'installedAt' | 'headers' | 'lastError'> & {
  /** Tools of the server that are not used. */
  readonly leftOut: number;
};

/** Maximum number of tools per server. */
export const TOOLS_MAX = 128;
export const MANIFEST_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** Tool names that the Model Context Protocol allows. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const DESCRIPTION_CHARS_MAX = 1024;
const SCHEMA_CHARS_MAX = 16_384;
/** Limit for all tools of a server together. */
const LIST_CHARS_MAX = 131_072;

/** The usable tools: the first with valid names and schemas, without duplicates. */
export function toTools(offered: readonly unknown[]): { tools: McpTool[]; leftOut: number } {
  const tools = new Map<string, McpTool>();
  let chars = 0;
  for (const given of offered) {
    if (tools.size >= TOOLS_MAX) break;
    const { name, description, parameters, inputSchema } = (given ?? {}) as Record<string, unknown>;
    const schema = parameters ?? inputSchema ?? { type: 'object' };
    if (typeof name !== 'string' || !TOOL_NAME.test(name) || tools.has(name)) continue;
    if (typeof schema !== 'object' || Array.isArray(schema)) continue;
    const text = typeof description === 'string' ? description.slice(0, DESCRIPTION_CHARS_MAX) : '';
    const { length } = JSON.stringify(schema);
    if (length > SCHEMA_CHARS_MAX || (chars += length + text.length) > LIST_CHARS_MAX) continue;
    tools.set(name, { name, description: text, parameters: schema as Record<string, unknown> });
  }
  return { tools: [...tools.values()], leftOut: offered.length - tools.size };
}

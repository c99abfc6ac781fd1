// Servers with a manifest: `GET <url>/manifest` lists the tools, and `POST <url>/tools/<tool>` calls a tool. Called by
// install.ts and tools.ts.
import type { McpServer } from '../workspace-types.ts';
import { exchange, McpError } from './exchange.ts';
import { contentText } from './content.ts';
import { MANIFEST_NAME, toTools, TOOLS_MAX, type Found } from './tool-list.ts';

const BYTES_MAX = 1_000_000;
const TIMEOUT_MS = 10_000;
const CALL_TIMEOUT_MS = 55_000;

/**
 * Fetches a server's manifest; null if there is none, in which case it may be a server of the Model Context Protocol.
 *
 * @throws an error that describes the problem with the manifest, or that the server does not answer.
 */
export async function fetchManifest(url: string, headers: Readonly<Record<string, string>>): Promise<Found | null> {
  const base = baseOf(url);
  const asked = { method: 'GET', url: `${base}/manifest`, timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX } as const;
  let answered: Awaited<ReturnType<typeof exchange>>;
  try {
    answered = await exchange({ ...asked, headers: { ...headers, accept: 'application/json' } });
  } catch (error) {
    // A redirect is not a manifest, but the server may still support the protocol.
    if (error instanceof McpError && error.status >= 300) return null;
    throw error;
  }
  const { status, text } = answered;
  if (status !== 200) return null;
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    return null;
  }
  const { name, tools } = (manifest ?? {}) as { name?: unknown; tools?: unknown };
  if (name === undefined && tools === undefined) return null;
  if (typeof name !== 'string' || !MANIFEST_NAME.test(name))
    throw new Error(`${base}/manifest: name must have 1 to 64 letters, digits, _, . or -`);
  if (!Array.isArray(tools) || tools.length > TOOLS_MAX)
    throw new Error(`${base}/manifest: tools must be a list of at most ${TOOLS_MAX}`);
  for (const tool of tools as unknown[]) checkTool(tool, base);
  return { name, url: base, transport: 'manifest', ...toTools(tools) };
}

/** Calls a tool of a server. @throws when the server fails; a failure of the tool itself is in the returned text. */
export async function callManifestTool(server: McpServer, tool: string, args: unknown, key: string): Promise<string> {
  const { status, text } = await exchange({
    method: 'POST',
    url: `${server.url}/tools/${encodeURIComponent(tool)}`,
    headers: { ...server.headers, accept: 'application/json', 'idempotency-key': key },
    body: { arguments: args ?? {} },
    timeoutMs: CALL_TIMEOUT_MS,
    bytesMax: BYTES_MAX,
  });
  if (status !== 200) throw new Error(`The MCP server ${server.name} answered ${status}`);
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return text;
  }
  const { result } = (answer ?? {}) as { result?: unknown };
  return typeof result === 'string' ? result : contentText(answer, text);
}

function baseOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

function checkTool(given: unknown, base: string): void {
  const { name, description = '', parameters = {} } = (given ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !MANIFEST_NAME.test(name))
    throw new Error(`${base}/manifest: the name of a tool must have 1 to 64 letters, digits, _, . or -`);
  if (typeof description !== 'string' || typeof parameters !== 'object' || parameters === null)
    throw new Error(`${base}/manifest: the tool ${name} needs a text as description and a JSON Schema as parameters`);
}

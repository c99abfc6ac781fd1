// Servers of the manifest shape: `GET <url>/manifest` lists the tools, `POST <url>/tools/<tool>` calls one. Where a
// project may connect to is the platform's affair (its egress policy refuses private addresses). Called by commands.ts
// and tools/mcp.ts.
import type { McpServer, McpTool } from './workspace-types.ts';

const BYTES_MAX = 1_000_000;
const TIMEOUT_MS = 10_000;
const CALL_TIMEOUT_MS = 55_000;
const TOOLS_MAX = 128;
const REDIRECTS_MAX = 3;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Fetches a server's manifest. @throws an error that says what is wrong with it. */
export async function fetchManifest(text: string): Promise<McpServer> {
  const base = baseOf(text);
  const response = await request(`${base}/manifest`, { headers: { accept: 'application/json' } }, TIMEOUT_MS);
  if (response.status !== 200)
    throw new Error(
      `${base}/manifest answered ${response.status}. Servers that speak the Model Context Protocol itself are not supported yet, only those with a manifest`,
    );
  let manifest: unknown;
  try {
    manifest = JSON.parse(response.text);
  } catch {
    throw new Error(`${base}/manifest is no JSON`);
  }
  const { name, tools } = (manifest ?? {}) as { name?: unknown; tools?: unknown };
  if (typeof name !== 'string' || !NAME.test(name))
    throw new Error(`${base}/manifest: name must have 1 to 64 letters, digits, _, . or -`);
  if (!Array.isArray(tools) || tools.length > TOOLS_MAX)
    throw new Error(`${base}/manifest: tools must be a list of at most ${TOOLS_MAX}`);
  return {
    name,
    url: base,
    tools: tools.map((tool) => toTool(tool, base)),
    transport: 'manifest',
    installedAt: Date.now(),
  };
}

/** Calls a tool of a server. @throws when the server fails; a failure of the tool itself is told in the text. */
export async function callManifestTool(server: McpServer, tool: string, args: unknown, key: string): Promise<string> {
  const { status, text } = await request(
    `${server.url}/tools/${encodeURIComponent(tool)}`,
    {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ arguments: args ?? {} }),
    },
    CALL_TIMEOUT_MS,
  );
  if (status !== 200) throw new Error(`The MCP server ${server.name} answered ${status}`);
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return text;
  }
  const { result, content, isError } = (answer ?? {}) as { result?: unknown; content?: unknown; isError?: unknown };
  const said = Array.isArray(content)
    ? content
        .map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : JSON.stringify(part)))
        .join('\n')
    : typeof result === 'string'
      ? result
      : text;
  return isError === true ? `Error: ${said}` : said;
}

function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    throw new Error('The address of an MCP server is an http or https URL without a password');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function toTool(given: unknown, base: string): McpTool {
  const { name, description = '', parameters = { type: 'object' } } = (given ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !NAME.test(name))
    throw new Error(`${base}/manifest: the name of a tool must have 1 to 64 letters, digits, _, . or -`);
  if (typeof description !== 'string' || typeof parameters !== 'object' || parameters === null)
    throw new Error(`${base}/manifest: the tool ${name} needs a text as description and a JSON Schema as parameters`);
  return { name, description, parameters: parameters as Record<string, unknown> };
}

/** Follows redirects within the origin, and reads no more than it may. */
async function request(url: string, init: RequestInit, timeoutMs: number): Promise<{ status: number; text: string }> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { origin } = new URL(url);
  let target = url;
  for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
    const response = await fetch(target, { ...init, redirect: 'manual', signal });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null)
      return { status: response.status, text: await readText(response, url) };
    await response.body?.cancel();
    target = new URL(location, target).href;
    if (new URL(target).origin !== origin) throw new Error(`${url} redirects to another origin`);
  }
  throw new Error(`${url} redirects more than ${REDIRECTS_MAX} times`);
}

async function readText(response: Response, url: string): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    if ((bytes += chunk.length) > BYTES_MAX) throw new Error(`${url} answered with more than ${BYTES_MAX} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

// Detects the kind of an MCP server at a URL: a manifest, or a server of the protocol. Called by commands.ts.
import type { McpServer } from '../workspace-types.ts';
import { connect } from './client.ts';
import { fetchManifest } from './manifest.ts';

const HEADERS_MAX = 10;
const HEADER_NAME = /^[A-Za-z0-9-]{1,64}$/;
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;
/** Headers set by the protocol or the connection. */
const RESERVED = /^(?:mcp-.*|accept|content-.*|connection|host|transfer-encoding|idempotency-key)$/i;

/** @throws an error that describes the problem with the URL, the headers or the server. */
export async function findServer(
  address: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ server: McpServer; leftOut: number }> {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    throw new Error('The address of an MCP server is an http or https URL without a password');
  url.hash = '';
  checkHeaders(headers);
  const found = (await fetchManifest(url.href, headers)) ?? (await connect(url.href, headers));
  const { leftOut, ...server } = found;
  const secret = Object.keys(headers).length > 0 ? { headers } : {};
  return { server: { ...server, ...secret, installedAt: Date.now() }, leftOut };
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const entries = Object.entries(headers);
  if (entries.length > HEADERS_MAX) throw new Error(`An MCP server is sent at most ${HEADERS_MAX} headers`);
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name) || RESERVED.test(name)) throw new Error(`The header ${name} cannot be set`);
    if (typeof value !== 'string' || !HEADER_VALUE.test(value))
      throw new Error(`The value of the header ${name} must be 1 to 4,096 printable ASCII characters`);
  }
}

// Client of Model Context Protocol servers over streamable HTTP, in both generations: stateless (2026-07-28), and
// earlier with sessions that start with `initialize`. Called by install.ts and tools.ts.
import type { McpServer } from '../workspace-types.ts';
import { contentText } from './content.ts';
import { exchange, McpError, type Exchanged } from './exchange.ts';
import { paramHeaders } from './param-headers.ts';
import { toTools, TOOLS_MAX, type Found } from './tool-list.ts';
import { META, STATELESS, WITH_SESSION } from './versions.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const CALL_TIMEOUT_MS = 55_000;
/** Limit of a response: a list of 10,000 tools fits into it. */
const BYTES_MAX = 4_000_000;
const PAGES_MAX = 20;
const SERVER_NAME = /[^A-Za-z0-9_.-]+/g;
const client = { name: 'platform-agent', version: '1' };

/** Connection settings of a server. */
type Connection = Pick<McpServer, 'url' | 'headers' | 'protocolVersion' | 'sessionId'>;

/** Detects the protocol of a server, and lists its tools. @throws McpError that describes the problem. */
export async function connect(url: string, headers: Readonly<Record<string, string>>): Promise<Found> {
  const connection: Connection = { url, headers };
  const { name, ...connected } = (await discover(connection)) ?? (await initialise(connection));
  const tools = await listTools({ ...connection, ...connected });
  const plain = name.replace(SERVER_NAME, '-').slice(0, 64);
  return {
    name: plain === '' ? new URL(url).host.replace(SERVER_NAME, '-') : plain,
    url,
    ...connected,
    transport: 'streamable-http',
    ...tools,
  };
}

/**
 * Calls a tool. A session that the server has lost is started again, once.
 *
 * @param onSession receives the new session.
 * @throws McpError when the server fails; a failure of the tool itself is in the returned text.
 */
export async function callMcpTool(
  server: McpServer,
  tool: string,
  args: unknown,
  onSession: (sessionId: string | undefined) => Promise<void>,
): Promise<string> {
  const params = { name: tool, arguments: args ?? {} };
  const more = paramHeaders(server.tools.find(({ name }) => name === tool)?.parameters, params.arguments);
  const call = (connection: Connection): Promise<unknown> => {
    const isStateless = connection.protocolVersion === STATELESS;
    return rpc(connection, 'tools/call', params, CALL_TIMEOUT_MS, isStateless ? { 'mcp-name': tool, ...more } : {});
  };
  let result: unknown;
  try {
    result = await call(server);
  } catch (error) {
    const isForgotten =
      server.sessionId !== undefined && error instanceof McpError && [400, 404].includes(error.status);
    if (!isForgotten) throw error;
    const { sessionId, protocolVersion } = await initialise(server);
    await onSession(sessionId);
    result = await call({ ...server, protocolVersion, ...withSession({ sessionId }) });
  }
  if ((result as { resultType?: unknown }).resultType === 'input_required')
    throw new McpError(`The tool ${tool} asks for more than arguments, which an agent cannot give`);
  return contentText(result, JSON.stringify(result));
}

interface Connected {
  readonly name: string;
  readonly protocolVersion: string;
  readonly sessionId?: string;
}

/** Detects a stateless server, or returns null. */
async function discover({ url, headers }: Connection): Promise<Connected | null> {
  let result: unknown;
  try {
    const connection = { url, headers: headers ?? {}, protocolVersion: STATELESS };
    result = await rpc(connection, 'server/discover', {}, CONNECT_TIMEOUT_MS);
  } catch (error) {
    // Older servers answer unknown methods with one of these statuses. Other errors are final.
    const isOlder =
      error instanceof McpError && (error.isOfProtocol || [400, 404, 405, 406, 415, 422].includes(error.status));
    if (isOlder) return null;
    throw error;
  }
  const { supportedVersions, _meta, serverInfo } = result as Record<string, unknown>;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(STATELESS)) return null;
  const info = (_meta as Record<string, unknown> | undefined)?.[`${META}serverInfo`] ?? serverInfo;
  return { name: nameOf(info), protocolVersion: STATELESS };
}

/** Starts a session, or none if the server does not use them. */
async function initialise({ url, headers }: Connection): Promise<Connected> {
  const params = { protocolVersion: WITH_SESSION[0], capabilities: {}, clientInfo: client };
  const asked = { jsonrpc: '2.0', id: crypto.randomUUID(), method: 'initialize', params };
  const answered = await post({ url, headers: headers ?? {} }, asked, CONNECT_TIMEOUT_MS, {});
  const { protocolVersion, serverInfo } = resultOf(answered, url) as Record<string, unknown>;
  if (!WITH_SESSION.includes(protocolVersion as never))
    throw new McpError(
      `${url} speaks version ${JSON.stringify(protocolVersion)} of the protocol, which is not known here`,
    );
  const sessionId = answered.headers.get('mcp-session-id') ?? undefined;
  const begun = { protocolVersion: protocolVersion as string, ...withSession({ sessionId }) };
  const { status } = await post(
    { url, headers: headers ?? {}, ...begun },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    CONNECT_TIMEOUT_MS,
    {},
  );
  if (status >= 400) throw new McpError(`${url} answered ${status} to notifications/initialized`, status);
  return { name: nameOf(serverInfo), ...begun };
}

async function listTools(connection: Connection): Promise<Pick<Found, 'tools' | 'leftOut'>> {
  const offered: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < PAGES_MAX && offered.length < TOOLS_MAX; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = (await rpc(connection, 'tools/list', params, CONNECT_TIMEOUT_MS)) as Record<
      string,
      unknown
    >;
    if (!Array.isArray(tools)) throw new McpError(`${connection.url} lists no tools`);
    offered.push(...(tools as unknown[]));
    if (typeof nextCursor !== 'string') break;
    cursor = nextCursor;
  }
  return toTools(offered);
}

/** A request and its result. */
async function rpc(
  connection: Connection,
  method: string,
  params: Readonly<Record<string, unknown>>,
  timeoutMs: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const isStateless = connection.protocolVersion === STATELESS;
  const meta = {
    [`${META}protocolVersion`]: STATELESS,
    [`${META}clientInfo`]: client,
    [`${META}clientCapabilities`]: {},
  };
  const asked = {
    jsonrpc: '2.0',
    id: crypto.randomUUID(),
    method,
    params: isStateless ? { ...params, _meta: meta } : params,
  };
  const more = isStateless ? { 'mcp-method': method, ...headers } : headers;
  return resultOf(await post(connection, asked, timeoutMs, more), connection.url);
}

function post(
  { url, headers, protocolVersion, sessionId }: Connection,
  body: { readonly jsonrpc: string; readonly id?: string; readonly method: string; readonly params?: unknown },
  timeoutMs: number,
  more: Readonly<Record<string, string>>,
): Promise<Exchanged> {
  const own = {
    ...headers,
    accept: 'application/json, text/event-stream',
    ...(protocolVersion !== undefined && { 'mcp-protocol-version': protocolVersion }),
    ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
    ...more,
  };
  const isAnswer = (event: string): boolean => {
    const message = parse(event);
    return message !== null && message['id'] === body.id && ('result' in message || 'error' in message);
  };
  return exchange({ method: 'POST', url, headers: own, body, timeoutMs, bytesMax: BYTES_MAX }, isAnswer);
}

function resultOf({ status, text }: Exchanged, url: string): unknown {
  const message = parse(text);
  const error = message?.['error'] as { code?: unknown; message?: unknown } | undefined;
  if (status === 401 || status === 403)
    throw new McpError(`${url} answered ${status}: it wants credentials, as headers of installMcp`, status);
  if (typeof error?.message === 'string') throw new McpError(`${url}: ${error.message.slice(0, 1000)}`, status, true);
  if (status !== 200) throw new McpError(`${url} answered ${status}`, status);
  const result = message?.['result'];
  if (typeof result !== 'object' || result === null)
    throw new McpError(`${url} is neither a manifest nor a server of the Model Context Protocol`, status, true);
  return result;
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function nameOf(info: unknown): string {
  const { name } = (info ?? {}) as { name?: unknown };
  return typeof name === 'string' ? name : '';
}

function withSession({ sessionId }: { sessionId?: string | undefined }): { sessionId?: string } {
  return sessionId === undefined ? {} : { sessionId };
}

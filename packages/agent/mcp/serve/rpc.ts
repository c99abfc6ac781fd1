// Server side of the Model Context Protocol over streamable HTTP, in both generations and without sessions:
// dispatches requests and formats responses. Independent of agents. Called by endpoint.ts.
import { META, STATELESS, WITH_SESSION } from '../versions.ts';

/** Capabilities of a server. */
export interface Served {
  readonly name: string;
  readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: object }[];
  call(tool: string, args: unknown): Promise<{ readonly text: string; readonly isError: boolean }>;
}

type Json = Readonly<Record<string, unknown>>;

const BODY_BYTES_MAX = 1_000_000;
const VERSION = '1';
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NO_METHOD = -32601;
const INVALID_PARAMS = -32602;
const HEADER_MISMATCH = -32020;
const NO_VERSION = -32022;

/** Answers an authenticated request. */
export async function answerRpc(request: Request, served: Served): Promise<Response> {
  if (request.method !== 'POST') return refuse(405, INVALID_REQUEST, 'Only POST is served', null, { allow: 'POST' });
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/json') return refuse(415, INVALID_REQUEST, 'The content type must be application/json');
  const tooLong = (): Response => refuse(413, INVALID_REQUEST, `A request has at most ${BODY_BYTES_MAX} bytes`);
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) return tooLong();
  const text = await request.text();
  if (text.length > BODY_BYTES_MAX) return tooLong();
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return refuse(400, PARSE_ERROR, 'The body is not JSON');
  }
  if (!isJson(message) || message['jsonrpc'] !== '2.0')
    return refuse(400, INVALID_REQUEST, 'The body must be one message of JSON-RPC 2.0');
  const { id, method } = message;
  // Notifications and responses get no answer.
  if (id === undefined || typeof method !== 'string') return new Response(null, { status: 202 });
  if (typeof id !== 'string' && typeof id !== 'number')
    return refuse(400, INVALID_REQUEST, 'The id must be a text or a number');
  const params = isJson(message['params']) ? message['params'] : {};
  const meta = isJson(params['_meta']) ? params['_meta'] : {};
  const version = meta[`${META}protocolVersion`];
  const asked = { id, method, params };
  return version === undefined ? answerOlder(request, asked, served) : answerStateless(request, asked, version, served);
}

interface RpcRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Json;
}

/** 2026-07-28: every request names the client and the version, and headers repeat its kind. */
async function answerStateless(
  request: Request,
  call: RpcRequest,
  version: unknown,
  served: Served,
): Promise<Response> {
  const { id, method, params } = call;
  if (version !== STATELESS)
    return refuse(
      400,
      NO_VERSION,
      'This version of the protocol is not supported',
      id,
      {},
      { supported: [STATELESS], requested: version },
    );
  const wanted = {
    'mcp-protocol-version': STATELESS,
    'mcp-method': method,
    ...(method === 'tools/call' && { 'mcp-name': params['name'] }),
  };
  for (const [name, value] of Object.entries(wanted))
    if (request.headers.get(name) !== value)
      return refuse(400, HEADER_MISMATCH, `The header ${name} must say what the body says`, id);
  const own = { resultType: 'complete', _meta: { [`${META}serverInfo`]: { name: served.name, version: VERSION } } };
  const cached = { ...own, ttlMs: 0, cacheScope: 'private' };
  switch (method) {
    case 'server/discover':
      return result(id, { supportedVersions: [STATELESS], capabilities: { tools: {} }, ...cached });
    case 'tools/list':
      return result(id, { tools: served.tools, ...cached });
    case 'tools/call':
      return callTool(call, served, own);
    default:
      return refuse(404, NO_METHOD, `There is no method ${method}`, id);
  }
}

/** Versions that start with `initialize`. No session is stored, because no response depends on a session. */
async function answerOlder(request: Request, call: RpcRequest, served: Served): Promise<Response> {
  const { id, method, params } = call;
  const version = request.headers.get('mcp-protocol-version');
  if (version === STATELESS)
    return refuse(400, INVALID_PARAMS, `A request of version ${STATELESS} has ${META}protocolVersion in _meta`, id);
  if (version !== null && !isOlder(version))
    return refuse(
      400,
      NO_VERSION,
      'This version of the protocol is not supported',
      id,
      {},
      { supported: [STATELESS, ...WITH_SESSION], requested: version },
    );
  const { protocolVersion } = params;
  switch (method) {
    case 'initialize':
      return result(id, {
        protocolVersion: isOlder(protocolVersion) ? protocolVersion : WITH_SESSION[0],
        capabilities: { tools: {} },
        serverInfo: { name: served.name, version: VERSION },
      });
    case 'ping':
      return result(id, {});
    case 'tools/list':
      return result(id, { tools: served.tools });
    case 'tools/call':
      return callTool(call, served, {});
    default:
      return refuse(200, NO_METHOD, `There is no method ${method}`, id);
  }
}

async function callTool({ id, params }: RpcRequest, served: Served, more: object): Promise<Response> {
  const { name, arguments: args = {} } = params;
  if (!served.tools.some((tool) => tool.name === name))
    return refuse(200, INVALID_PARAMS, `There is no tool ${JSON.stringify(name)}`, id);
  const { text, isError } = await served.call(name as string, args);
  return result(id, { content: [{ type: 'text', text }], ...(isError && { isError }), ...more });
}

function isOlder(version: unknown): boolean {
  return WITH_SESSION.includes(version as never);
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function result(id: string | number, value: object): Response {
  return Response.json({ jsonrpc: '2.0', id, result: value }, { headers: { 'cache-control': 'no-store' } });
}

/** A protocol error. */
export function refuse(
  status: number,
  code: number,
  message: string,
  id: string | number | null = null,
  headers: Readonly<Record<string, string>> = {},
  data?: object,
): Response {
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: '2.0', id, error }, { status, headers });
}

// The HTTP routes of the sandbox service, for its process and for `platform dev`: identify the sandbox, hold it, and
// proxy request and response between caller and agent. The agent's responses are untrusted: only valid results of an
// operation are forwarded.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorTable, isErrorCode, PlatformError, type ErrorCode } from '#core/errors.ts';
import { toFields, type Fields } from '#core/sandbox/arguments.ts';
import { PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import { isSandboxId } from '#core/sandbox/sandbox-id.ts';
import {
  agentOperations,
  ARGUMENTS_HEADER,
  BUILD_RESOURCE,
  isAgentOperation,
  isPortOperation,
  isServiceOperation,
  RESPONSE_HEADER,
  type AgentOperation,
  type SandboxPlace,
  type ServiceOperation,
} from '#core/sandbox/operations.ts';
import { OPTIONS_HEADER, optionsChangeIn, type SandboxOptionsChange } from '#core/sandbox/options.ts';
import type { SandboxServiceStatus } from '#core/sandbox/service-status.ts';
import { refusalOf } from './agent-refusal.ts';
import { askAgent, HEAD_MS_MAX } from './agent-request.ts';
import type { Call, CallPlacement } from './call.ts';
import type { ExecLog } from './exec-log.ts';
import type { ExposedPorts } from './exposed-ports.ts';
import { createPortTunnels } from './port-tunnels.ts';
import { createPortVisits } from './port-visits.ts';
import { holderIn, FORWARDED_HEADER, type Sandboxes } from './held-sandboxes.ts';
import { TERMINAL_QUIET_MS, useForTerminal } from './terminal-use.ts';

/** Dependencies. */
interface SandboxRoutesDeps {
  readonly sandboxes: Sandboxes;
  /** Checks the token in a request's `authorization`. */
  readonly isAuthorized: (authorization: string | undefined) => boolean;
  /** Maximum concurrent calls per project. */
  readonly callsMax: number;
  /** Without `placement`, calls for sandboxes held by another replica are refused. */
  readonly placement?: CallPlacement;
  /** Connects to another replica, as named in the rows; null if it does not answer. */
  readonly elsewhere?: (owner: string) => Promise<Duplex | null>;
  /** Without this log, the output of commands is not logged. */
  readonly execLog?: ExecLog | null;
  /** Status for operators; if undefined, the route does not exist. */
  readonly status?: () => Promise<SandboxServiceStatus>;
  /** Exposed ports, maximum concurrent visits per project, and the idle timeout of a visit. */
  readonly ports?: { readonly exposed: ExposedPorts; readonly visitsMax: number; readonly idleMs: number };
  /** How long an idle terminal keeps its sandbox from being suspended. */
  readonly terminalQuietMs?: number;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/**
 * Status that tells a forwarding replica that the sandbox is not here either, so that it looks the sandbox up again.
 */
export const ELSEWHERE = 421;

const FIELDS_BYTES_MAX = 64 * 1024;
const LIST_MAX = 1000;
const ID_FORM = 'has at most 63 letters, digits, ".", "_" and "-", and begins with a letter or a digit';
const NAME = /^[a-z0-9][a-z0-9_~-]{0,127}$/;

const contentTypes = {
  json: 'application/json',
  events: 'text/event-stream',
  bytes: 'application/octet-stream',
  forwarded: 'application/octet-stream',
} as const;

/** Handles requests, and WebSockets with `upgrade`. */
type SandboxRoutes = ((request: IncomingMessage, response: ServerResponse) => void) & {
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
};

export function createSandboxRoutes(deps: SandboxRoutesDeps): SandboxRoutes {
  const {
    sandboxes,
    isAuthorized,
    callsMax,
    placement = (_call, here) => here(),
    execLog = null,
    ports,
    terminalQuietMs = TERMINAL_QUIET_MS,
    log,
    status,
    elsewhere,
  } = deps;
  const visits = ports === undefined ? null : createPortVisits({ ...ports, sandboxes, placement });
  /** Calls in progress, by project. */
  const calls = new Map<string, number>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '', 'http://sandboxes');
    if (url === null) throw invalid('The address is not valid');
    if (url.pathname === '/healthz') return sendJson(response, { status: 'ok' });
    if (!isAuthorized(request.headers.authorization)) throw new PlatformError('sandbox_unauthorized');
    if (url.pathname === '/v1/status' && request.method === 'GET' && status !== undefined)
      return sendJson(response, await status());
    const [version, projects, project = '', kind, resource, id, operation, ...rest] = url.pathname
      .slice(1)
      .split('/')
      .map(decoded);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const call = { request, response, gone: gone.signal };
    if (version === 'v1' && projects === 'ports' && kind === undefined && request.method === 'POST' && visits)
      return visits.request(project, call);
    if (version !== 'v1' || projects !== 'projects' || kind !== 'sandboxes' || rest.length > 0)
      throw new PlatformError('sandbox_operation_unknown', { operation: url.pathname.slice(0, 100) });
    if (!NAME.test(project)) throw invalid('The project is not a name');
    if (resource === undefined && request.method === 'DELETE')
      return placement(call, async () => {
        await sandboxes.destroyProject(project);
        sendJson(response, {});
      });
    if (resource === undefined || (resource !== BUILD_RESOURCE && !NAME.test(resource)))
      throw invalid('The resource is not a name');
    if (id === undefined && request.method === 'GET') return list({ project, resource }, url.searchParams, response);
    if (!isSandboxId(id)) throw invalid(`The id of a sandbox ${ID_FORM}`);
    const place = { project, resource, id };
    const change = optionsChangeIn(request.headers[OPTIONS_HEADER] as string | undefined);
    if (request.method !== 'POST' || operation === undefined)
      throw new PlatformError('sandbox_operation_unknown', { operation: (operation ?? '').slice(0, 100) });
    if (isServiceOperation(operation))
      return counted(project, operation === 'snapshot' || operation === 'fork', () =>
        placement(call, async () => sendJson(response, await serve(operation, place, change, request))),
      );
    if (ports !== undefined && isPortOperation(operation)) {
      const template = request.headers[PORT_ORIGIN_HEADER];
      return placement(call, async () =>
        sendJson(response, await ports.exposed.answer(operation, { place, change }, template, () => fieldsOf(request))),
      );
    }
    if (!isAgentOperation(operation))
      throw new PlatformError('sandbox_operation_unknown', { operation: operation.slice(0, 100) });
    return counted(project, true, () => placement(call, () => forward(operation, place, change, call)));
  }

  /** @param isLong whether the call may take long; only such calls are counted. */
  async function counted(project: string, isLong: boolean, work: () => Promise<void>): Promise<void> {
    if (!isLong) return work();
    const running = calls.get(project) ?? 0;
    if (running >= callsMax)
      throw new PlatformError('sandbox_limit', { what: 'Another running call of this project', limit: callsMax });
    calls.set(project, running + 1);
    try {
      await work();
    } finally {
      const left = calls.get(project)! - 1;
      if (left > 0) calls.set(project, left);
      else calls.delete(project);
    }
  }

  async function list(
    within: Omit<SandboxPlace, 'id'>,
    search: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    const limit = Number(search.get('limit') ?? 100);
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_MAX)
      throw invalid(`limit must be a whole number from 1 to ${LIST_MAX}`);
    const prefix = search.get('prefix') ?? '';
    const cursor = search.get('cursor') ?? '';
    for (const value of [prefix, cursor])
      if (value !== '' && !isSandboxId(value))
        throw invalid('prefix and cursor must be ids of sandboxes or their beginnings');
    const page = { prefix, cursor, limit };
    const isOfSnapshots = search.get('snapshots') === '1';
    sendJson(response, await (isOfSnapshots ? sandboxes.listSnapshots : sandboxes.list)(within, page));
  }

  async function serve(
    operation: ServiceOperation,
    place: SandboxPlace,
    change: SandboxOptionsChange | null,
    request: IncomingMessage,
  ): Promise<unknown> {
    switch (operation) {
      case 'snapshot': {
        const { id } = argumentsIn(request);
        if (id !== undefined && !isSandboxId(id)) throw invalid(`The id of a snapshot ${ID_FORM}`);
        return sandboxes.snapshot(place, id ?? null);
      }
      case 'fork': {
        const { id } = argumentsIn(request);
        if (!isSandboxId(id)) throw invalid(`The id of a sandbox ${ID_FORM}`);
        await sandboxes.fork(place, id);
        return null;
      }
      case 'deleteSnapshot':
        await sandboxes.deleteSnapshot(place);
        return null;
      case 'info':
        return sandboxes.info(place);
      case 'suspend':
        await sandboxes.suspend(place);
        return null;
      case 'stop':
        await sandboxes.stop(place);
        return null;
      case 'resume':
        await sandboxes.resume(place, change);
        return null;
      case 'destroy':
        await sandboxes.destroy(place);
        return null;
    }
  }

  async function forward(
    operation: AgentOperation,
    place: SandboxPlace,
    change: SandboxOptionsChange | null,
    { request, response, gone }: Call,
  ): Promise<void> {
    const held = await sandboxes.hold(place, change);
    const use = operation === 'terminal' ? useForTerminal(sandboxes, place, held, terminalQuietMs) : null;
    try {
      if (gone.aborted) return;
      if (request.headers.expect !== undefined) response.writeContinue();
      const { answer: shape } = agentOperations[operation];
      const connection = await held.connect();
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), HEAD_MS_MAX);
      const given = request.headers[ARGUMENTS_HEADER];
      // Keeps the connection open if the response arrives before the request was sent completely.
      const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
      const head = await askAgent(connection, {
        operation,
        args: typeof given === 'string' ? given : null,
        body: use?.typed(body) ?? body,
        signal: AbortSignal.any([gone, late.signal, ...(use === null ? [] : [use.lost])]),
      }).finally(() => clearTimeout(timer));
      if (head.statusCode !== 200) throw await refusalOf(head);
      const headers: Record<string, string> = { 'content-type': contentTypes[shape] };
      if (shape === 'forwarded') headers[RESPONSE_HEADER] = headOf(head);
      response.writeHead(200, headers);
      response.flushHeaders();
      const logged = execLog?.(place, operation) ?? null;
      const answered = use?.printed(head) ?? head;
      await (logged === null ? pipeline(answered, response) : pipeline(answered, logged, response));
    } finally {
      use?.release();
      held.release();
    }
  }

  const routes = (request: IncomingMessage, response: ServerResponse): void => {
    request.on('error', () => {});
    response.on('error', () => {});
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      const known = isErrorCode((error as { code?: unknown }).code);
      if (!known) log('error', `a call of a sandbox failed: ${(error as Error).stack ?? String(error)}`);
      const code: ErrorCode = known ? (error as PlatformError).code : 'internal';
      const message = known ? (error as PlatformError).message : errorTable.internal.message;
      const text = JSON.stringify({ error: { code, message } });
      const isElsewhere = holderIn(error) !== null && request.headers[FORWARDED_HEADER] !== undefined;
      response
        .writeHead(isElsewhere ? ELSEWHERE : errorTable[code].status, {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        })
        .end(text);
    });
  };
  return Object.assign(routes, {
    upgrade: createPortTunnels({ visits, sandboxes, isAuthorized, elsewhere, idleMs: ports?.idleMs ?? 0, log }),
  });
}

/** Arguments of operations that the service handles itself; limited to a small size. */
async function fieldsOf(request: IncomingMessage): Promise<Fields> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > FIELDS_BYTES_MAX) throw invalid(`The arguments have more than ${FIELDS_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  try {
    return toFields(JSON.parse(Buffer.concat(chunks).toString() || '{}'));
  } catch (error) {
    throw error instanceof PlatformError ? error : invalid('The arguments are not JSON');
  }
}

/** Arguments in a header, so that the sandbox can be located before the body is read. */
function argumentsIn({ headers }: IncomingMessage): Fields {
  const given = headers[ARGUMENTS_HEADER];
  try {
    return toFields(typeof given === 'string' ? JSON.parse(decodeURIComponent(given)) : {});
  } catch (error) {
    throw error instanceof PlatformError ? error : invalid(`The header ${ARGUMENTS_HEADER} is not JSON`);
  }
}

function invalid(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function sendJson(response: ServerResponse, value: unknown): void {
  const text = JSON.stringify(value ?? null);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}

/** Response headers of a server in the sandbox, validated, since an agent may send anything. */
function headOf({ headers }: IncomingMessage): string {
  const value = headers[RESPONSE_HEADER];
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new PlatformError('sandbox_lost', { reason: 'its agent sent an unexpected response' });
  return value;
}

// The host half of service bindings and of `ctx.exports`: calls of other workers. Everything in `args` comes from a
// worker and is checked here.
import { PassThrough, type Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { parseServiceTarget } from '#core/bindings/service.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import { toRecord } from './arguments.ts';
import { reply, signalOf } from './fetched-response.ts';
import { parseFetch, toHeaderList } from './fetch.ts';
import { checkRedirect, redirected, redirectTarget } from './redirects.ts';
import { receiveBody } from './streamed-body.ts';
import { withTrace } from './trace-headers.ts';
import type { SocketOpener, WorkerCalls, WorkerSession, WorkerTarget } from './worker-calls.ts';

/** Maximum size of `props` as JSON. */
const PROPS_CHARS_MAX = 64 * 1024;
const LABEL = /^[\w$.-]{0,100}$/;

/** @param resource encoded target of a declared binding. @throws {PlatformError} `binding_not_found`. */
export function createServiceCalls(
  resource: (binding: unknown) => string,
  workers: WorkerCalls,
): Readonly<Record<string, HostFunction>> {
  const targetOf = (args: Readonly<Record<string, unknown>>): WorkerTarget => {
    const service = parseServiceTarget(resource(args['binding']));
    return { service, entrypoint: service.entrypoint, props: '{}' };
  };
  return {
    'service.connect': (call) => connect(workers, targetOf(toRecord(call.args)), call),
    'service.fetch': (call) => begin(workers, targetOf(toRecord(call.args)), call),
  };
}

/** The calls of the worker's own entrypoints, for `ctx.exports`. */
export function createExportCalls(workers: WorkerCalls): Readonly<Record<string, HostFunction>> {
  const targetOf = ({ entrypoint, props }: Readonly<Record<string, unknown>>): WorkerTarget => {
    if (typeof entrypoint !== 'string' || entrypoint.length > 100)
      throw new PlatformError('invalid_argument', { reason: 'The entrypoint is not valid' });
    if (props !== undefined && (typeof props !== 'string' || props.length > PROPS_CHARS_MAX || !isJson(props)))
      throw new PlatformError('invalid_argument', {
        reason: `The props must be JSON of at most ${PROPS_CHARS_MAX} characters`,
      });
    return { service: null, entrypoint, props: props ?? '{}' };
  };
  return {
    'exports.connect': (call) => connect(workers, targetOf(toRecord(call.args)), call),
    'exports.fetch': (call) => begin(workers, targetOf(toRecord(call.args)), call),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @throws {PlatformError} if the caller is not allowed to open a socket. */
export function openerOf(call: HostCall, socket: unknown, ofCall: boolean): SocketOpener {
  // Positive ids are invocation ids, and belong to sockets that answer a request.
  if (!Number.isSafeInteger(socket) || (socket as number) >= 0)
    throw new PlatformError('invalid_argument', { reason: 'The socket is not valid' });
  return { open: () => call.isolate.openSocket(socket as number, call.owner.id, ofCall) };
}

async function connect(workers: WorkerCalls, target: WorkerTarget, call: HostCall): Promise<HostReply> {
  nameProject(target, call);
  await workers.connect(target, sessionOf(call));
  return {};
}

/**
 * Reads the session that a call opens: `{socket, method}` and its first frame. @throws {PlatformError} if the caller is
 * not allowed to open a session.
 */
export function sessionOf(call: HostCall): WorkerSession {
  const { socket, method, binding, entrypoint } = toRecord(call.args);
  const { owner, parts, span } = call;
  if (typeof method !== 'string') throw new PlatformError('invalid_argument', { reason: 'The method is not valid' });
  const [frame] = parts;
  if (frame === undefined || parts.length !== 1)
    throw new PlatformError('invalid_argument', { reason: 'The message is not valid' });
  // The socket ends with its invocation.
  if (owner.id === 0 || owner.isOver) throw new PlatformError('invocation_ended', { what: 'A call of another worker' });
  owner.countSubrequest();
  const label = LABEL.test(method) ? method : 'call';
  span?.calls(binding ?? entrypoint, label);
  span?.set('rpc.method', label);
  return {
    label,
    frame,
    headers: withTrace([], owner.trace, span?.id),
    received: (name) => owner.header(name),
    socket: openerOf(call, socket, true),
    memory: call.isolate.memory,
  };
}

function nameProject({ service }: WorkerTarget, { span }: HostCall): void {
  if (service !== null) span?.set('peer.service', service.project);
}

function begin(workers: WorkerCalls, target: WorkerTarget, call: HostCall): Promise<HostReply> {
  const asked = parseFetch(call.args);
  const { socket, binding, entrypoint } = toRecord(call.args);
  call.span?.calls(binding ?? entrypoint, 'fetch');
  nameProject(target, call);
  const opener = socket === undefined ? null : openerOf(call, socket, false);
  // The stream is opened before the first await, because its first chunk may come in the same records.
  const body = asked.stream === null ? (call.parts[0] ?? null) : receiveBody(call, asked.stream);
  const answer = run(workers, target, call, asked, body, opener);
  if (body instanceof PassThrough) answer.catch(() => body.destroy());
  return answer;
}

async function run(
  workers: WorkerCalls,
  target: WorkerTarget,
  call: HostCall,
  { method, url, headers, redirect }: ReturnType<typeof parseFetch>,
  body: Uint8Array | string | Readable | null,
  socket: SocketOpener | null,
): Promise<HostReply> {
  let to = new URL(url);
  let verb = method;
  const { span, owner } = call;
  span?.set('http.request.method', method.toUpperCase());
  let list = withTrace(toHeaderList(headers), owner.trace, span?.id);
  if (socket !== null) list = [...list, 'upgrade', 'websocket'];
  const signal = signalOf(call);
  for (let redirects = 0; ; redirects++) {
    owner.countSubrequest();
    const request = {
      method: verb,
      headers: list,
      body,
      signal,
      received: (name: string) => owner.header(name),
      socket,
    };
    const response = await workers.fetch(target, to, request);
    span?.set('http.response.status_code', response.statusCode);
    const location = redirect === 'manual' ? null : redirectTarget(response, to);
    if (location === null) {
      const answer = await reply(call, response, to, redirects > 0);
      if (response.statusCode !== 101) return answer;
      return { value: { ...(answer.value as object), upgraded: true, unread: true, protocol: '', extensions: '' } };
    }
    response.body.destroy();
    checkRedirect(location, redirect, redirects);
    ({ verb, body, list } = redirected(response.statusCode, { verb, body, list }));
    to = location;
  }
}

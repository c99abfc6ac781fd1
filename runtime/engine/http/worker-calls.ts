// Passes a worker's calls of other workers to the handler, without a network. Each call counts one of the hops that
// fetches between workers have (platform-hosts.ts), so that circles end. Made by handler.ts, for each deployment.
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { WorkerCalls, WorkerRequest, WorkerSession, WorkerTarget } from '../bindings/worker-calls.ts';
import type { HeadCache } from './header-block.ts';
import type { Callee, Exchange } from './listener.ts';
import { LoopbackExchange } from './loopback-exchange.ts';
import { HOPS_HEADER, HOPS_MAX, OWN_HEADERS } from './platform-hosts.ts';
import { SessionExchange } from './session-exchange.ts';

/** Dependencies. */
interface WorkerCallDeps {
  /** Name of what is called, for errors. */
  readonly nameOf: (target: WorkerTarget) => string;
  /**
   * Serves the call where the target is.
   *
   * @throws {PlatformError} when there is no such target.
   */
  readonly serve: (target: WorkerTarget, exchange: Exchange) => void;
  readonly heads: HeadCache;
  readonly bodyBytesMax: number;
}

/** Host of a session's request; workers see it nowhere. */
const SESSION_HOST = 'rpc';

export function createWorkerCalls(deps: WorkerCallDeps): WorkerCalls {
  return {
    fetch: (target, url, request) => fetchWorker(deps, target, url, request),
    connect: (target, session) => connect(deps, target, session),
  };
}

/** The number of this hop. @throws {PlatformError} `service_depth_exceeded`. */
function hopOf(received: (name: string) => string | null): number {
  const passed = Number(received(HOPS_HEADER) ?? 0);
  if (!(passed < HOPS_MAX)) throw new PlatformError('service_depth_exceeded', { limit: HOPS_MAX });
  return passed + 1;
}

function blockOf(headers: readonly string[]): string {
  let block = '';
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (!OWN_HEADERS.test(headers[at]!)) block += `${headers[at]}\0${headers[at + 1]}\0`;
  return block;
}

async function connect(deps: WorkerCallDeps, target: WorkerTarget, session: WorkerSession): Promise<void> {
  const { label, frame, headers, received, socket, memory } = session;
  const hop = hopOf(received);
  const exchange = new SessionExchange(deps.nameOf(target), {
    target: `/${label}`,
    host: SESSION_HOST,
    headerBlock: `host\0${SESSION_HOST}\0${HOPS_HEADER}\0${hop}\0${blockOf(headers)}`,
    entrypoint: target.entrypoint,
    props: target.props,
    frame,
    memory,
  });
  // The caller's isolate may also be the one that answers: it has to finish its current records first.
  const bridged = socket.open();
  bridged.attach(exchange.wire);
  exchange.wire.attach(bridged);
  setImmediate(() => {
    if (exchange.isOver) return;
    try {
      deps.serve(target, exchange);
    } catch (error) {
      exchange.callee.session!.fail(error as PlatformError);
    }
  });
  await exchange.done;
}

async function fetchWorker(
  deps: WorkerCallDeps,
  target: WorkerTarget,
  url: URL,
  { method, headers, body, signal, received, socket }: WorkerRequest,
): Promise<FetchedResponse> {
  const { bodyBytesMax, heads } = deps;
  const hop = hopOf(received);
  if (body !== null && !(body instanceof Readable) && Buffer.byteLength(body) > bodyBytesMax)
    throw new PlatformError('body_too_large', { limit: bodyBytesMax });
  let block = `host\0${url.host}\0${HOPS_HEADER}\0${hop}\0${blockOf(headers)}`;
  if (body !== null && !(body instanceof Readable)) block += `content-length\0${Buffer.byteLength(body)}\0`;
  const callee: Callee = { url: url.href, entrypoint: target.entrypoint, props: target.props, session: null };
  const exchange = new LoopbackExchange(
    {
      method: method.toUpperCase(),
      target: `${url.pathname}${url.search}`,
      host: url.host,
      headerBlock: block,
      body,
      bodyBytesMax,
      callee,
      socket,
    },
    heads,
  );
  const onAbort = (): void => exchange.abort(new Error('The request was aborted', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort);
  setImmediate(() => {
    try {
      if (signal.aborted) onAbort();
      else deps.serve(target, exchange);
    } catch (error) {
      exchange.abort(error as PlatformError);
    }
  });
  try {
    const { status, headers: said, body: content } = await exchange.answer;
    content.once('close', () => signal.removeEventListener('abort', onAbort));
    return { statusCode: status, statusText: '', headers: said, body: content };
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    throw error;
  }
}

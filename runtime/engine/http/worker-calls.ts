// Passes a worker's calls of other workers to the handler, without a network. Each call counts as one hop, like fetches
// between workers (platform-hosts.ts), so that cycles end. Created by handler.ts, for each deployment.
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { WorkerCalls, WorkerRequest, WorkerSession, WorkerTarget } from '../bindings/worker-calls.ts';
import type { HeadCache } from './header-block.ts';
import type { Callee, Exchange } from './listener.ts';
import {
  answerInside,
  HOPS_HEADER,
  HOPS_MAX,
  insideBlock,
  LOOP_REASON,
  LoopbackExchange,
} from './loopback-exchange.ts';
import { SessionExchange } from './session-exchange.ts';

/** Dependencies. */
interface WorkerCallDeps {
  /** Name of the target, for error messages. */
  readonly nameOf: (target: WorkerTarget) => string;
  /**
   * Serves the call in the engine that has the target.
   *
   * @throws {PlatformError} when there is no such target.
   */
  readonly serve: (target: WorkerTarget, exchange: Exchange) => void;
  readonly heads: HeadCache;
  readonly bodyBytesMax: number;
}

/** Host of a session's request, which workers never see. */
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

function connect(deps: WorkerCallDeps, target: WorkerTarget, session: WorkerSession): Promise<void> {
  const hop = hopOf(session.received);
  const exchange = sessionExchange(deps.nameOf(target), session, hop, { ...target, isOfObject: false });
  return openSession(session, exchange, (opened) => deps.serve(target, opened));
}

/**
 * Opens a session with a durable object; resolves when the session ends. @throws {Error} `loop_detected`, or the reason
 * why the session failed.
 */
export function connectObject(
  name: string,
  session: WorkerSession,
  serve: (exchange: SessionExchange) => void,
): Promise<void> {
  const passed = Number(session.received(HOPS_HEADER) ?? 0);
  if (!(passed < HOPS_MAX)) throw new PlatformError('loop_detected', { reason: LOOP_REASON });
  // The session is sent as a handshake, because the object may be in another engine.
  const asked = { ...session, headers: [...session.headers, 'upgrade', 'websocket'] };
  const target = { entrypoint: null, props: '{}', isOfObject: true };
  return openSession(session, sessionExchange(name, asked, passed + 1, target), serve);
}

function sessionExchange(
  name: string,
  { label, frame, headers, memory }: WorkerSession,
  hop: number,
  { entrypoint, props, isOfObject }: Pick<WorkerTarget, 'entrypoint' | 'props'> & { readonly isOfObject: boolean },
): SessionExchange {
  return new SessionExchange(name, {
    target: `/${label}`,
    host: SESSION_HOST,
    headerBlock: insideBlock(SESSION_HOST, hop, headers, null),
    entrypoint,
    props,
    frame,
    memory,
    isOfObject,
  });
}

async function openSession(
  { socket }: WorkerSession,
  exchange: SessionExchange,
  serve: (exchange: SessionExchange) => void,
): Promise<void> {
  // The caller's isolate may also be the one that responds, so it must finish its current records first.
  const bridged = socket.open();
  bridged.attach(exchange.wire);
  exchange.wire.attach(bridged);
  setImmediate(() => {
    if (exchange.isOver) return;
    try {
      serve(exchange);
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
  const callee: Callee = { url: url.href, entrypoint: target.entrypoint, props: target.props, session: null };
  const exchange = new LoopbackExchange(
    {
      method: method.toUpperCase(),
      target: `${url.pathname}${url.search}`,
      host: url.host,
      headerBlock: insideBlock(url.host, hop, headers, body),
      body,
      bodyBytesMax,
      callee,
      socket,
    },
    heads,
  );
  return answerInside(exchange, signal, () => deps.serve(target, exchange));
}

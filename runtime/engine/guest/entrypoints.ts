// Calls of other workers: finds the entrypoint of this worker that they reach, and its arguments. dispatch.ts uses it
// for requests that are not for the worker's own `fetch`; the session of an RPC call is in lazy/rpc.ts.
import { toHost, type Part } from '../bridge/protocol.ts';
import { onSettled } from './answers.ts';
import { ExecutionContext } from './execution-context.ts';
import type { GuestInvocation } from './invocation.ts';
import { useModule } from './modules.ts';
import { exportNames, exportOf } from './object-records.ts';
import { records, send } from './records.ts';
import { fromJson } from './safe.ts';
import type { SessionMain } from './session-main.ts';
import { connectEnd, disconnectEnd, NetworkEnd } from './sockets.ts';

/** The entrypoint that another worker calls, as sent by the host. */
export interface Callee {
  /** Name of the export. */
  readonly entrypoint: string;
  /** JSON of `ctx.props`. */
  readonly props: string;
  /** Whether the call is an RPC session; otherwise, it is a request. */
  readonly isSession: boolean;
}

type EntryClass = new (context: unknown, env: unknown) => object;

/** Names of entrypoints that `ctx.exports` shows. */
export function entrypointNames(): string[] {
  return exportNames().filter((name) => typeof exportOf(name) === 'function' || isObject(exportOf(name)));
}

/** Whether other workers can call this worker, which then needs no handler. */
export function hasEntrypoint(): boolean {
  return exportNames().some((name) => isClass(exportOf(name)));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isClass(value: unknown): value is EntryClass {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

function missing(entrypoint: string): Error {
  return new Error(`The worker exports no entrypoint ${entrypoint}`);
}

/** Returns the entrypoint: an instance of its class, or the exported object. */
function openEntrypoint(
  { entrypoint }: Callee,
  env: unknown,
  context: ExecutionContext,
): { entry: object; isNew: boolean } {
  const found = exportOf(entrypoint);
  if (isClass(found)) return { entry: new found(context, env), isNew: true };
  if (isObject(found) || typeof found === 'function') return { entry: found, isNew: false };
  throw missing(entrypoint);
}

/** Returns the response of an entrypoint's `fetch`. */
export function fetchEntrypoint(callee: Callee, request: unknown, env: unknown, context: ExecutionContext): unknown {
  const { entry, isNew } = openEntrypoint(callee, env, context);
  const { fetch } = entry as { readonly fetch?: unknown };
  if (typeof fetch !== 'function') throw new TypeError(`The entrypoint ${callee.entrypoint} has no fetch method`);
  return Reflect.apply(fetch as (...of: unknown[]) => unknown, entry, isNew ? [request] : [request, env, context]);
}

export function contextOf(callee: Callee | null, invocation: GuestInvocation): ExecutionContext {
  return new ExecutionContext(invocation, onSettled, callee === null ? undefined : fromJson(callee.props));
}

/** The object that a session with an entrypoint calls. */
export function mainOf(callee: Callee, env: unknown, invocation: GuestInvocation): SessionMain {
  let isNew = false;
  const context = contextOf(callee, invocation);
  return {
    object: () => {
      const opened = openEntrypoint(callee, env, context);
      ({ isNew } = opened);
      return opened.entry;
    },
    // Like a handler, a method of an exported object gets `env` and `ctx` after its argument.
    adapt: (name, args) => {
      if (isNew) return args;
      if (args.length > 1)
        throw new TypeError(
          `Cannot call handler function "${name}" over RPC: it takes one argument, and env and ctx. ` +
            'A class that extends WorkerEntrypoint has methods with more.',
        );
      return [args[0], env, context];
    },
  };
}

/**
 * Responds with a session, which keeps the invocation open until the session is over.
 *
 * @param first the first frame; null if it follows as a message.
 * @param renews whether each message starts a new CPU budget.
 */
export function answerSession(
  main: SessionMain,
  first: Part | null,
  invocation: GuestInvocation,
  renews: boolean,
): void {
  send(toHost.upgrade, invocation.id, records.part(''));
  invocation.answered = true;
  invocation.waiting++;
  const { id } = invocation;
  const network = new NetworkEnd(id);
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    disconnectEnd(id);
    onSettled(invocation);
  };
  const transport = {
    send: (frame: Part) => {
      if (!isOver) network.receive(frame);
    },
    close: () => {
      network.closing(1000, '');
      over();
    },
    onFrame: (_frame: Part): void => {},
    onClosed: (_error: Error | null): void => {},
  };
  const end = {
    networkId: 0,
    receive: (data: Part) => transport.onFrame(data),
    closing: () => {},
    closed: () => {
      if (!isOver) transport.onClosed(null);
      over();
    },
    failed: () => {},
  };
  connectEnd(id, end, invocation, () => {}, renews);
  useModule('rpc').serveSession(transport, main, first);
}

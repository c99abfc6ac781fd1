// Calls the worker's handlers: `fetch` for requests, other handlers for events, methods of durable objects. Started by
// entry.ts. Hot path: objects are allocated only for requests that need them.
import { NOTHING, STREAM, toHost, type Part, type RecordReader } from '../bridge/protocol.ts';
import { answer, answerEvent, answerSocketEvent, fail, onSettled } from './answers.ts';
import { bodyToGuest } from './bodies-to-guest.ts';
import { enterContext } from './context.ts';
import { limitEvent, limitWorker, requestLimitMs } from './cpu-limits.ts';
import { callLater, isServing, release } from './early-calls.ts';
import { answerSession, contextOf, fetchEntrypoint, mainOf, type Callee } from './entrypoints.ts';
import { isCondemned } from './entry-end.ts';
import { ExecutionContext } from './execution-context.ts';
import { GuestInvocation, openInvocation, touch } from './invocation.ts';
import { isMissingHandler, missingHandler } from './missing-handler.ts';
import { objectModule } from './object-records.ts';
import { send } from './records.ts';
import { threw } from './rejections.ts';
import { fromJson } from './safe.ts';
import { createIncomingRequest } from './web/request.ts';
import { URL } from './web/url.ts';

/** A worker's default export. */
export interface Worker {
  fetch?: (request: unknown, env: unknown, context: unknown) => unknown;
  readonly [handler: string]: unknown;
}

/** A handler from a module of events/ for one kind of event: calls the worker and returns the result. */
export type EventHandler = (
  worker: Worker | null,
  env: unknown,
  context: ExecutionContext,
  event: unknown,
  bodies: readonly string[],
) => Promise<unknown>;

/** Modules of events/ by kind, loaded through lazy.ts. */
export const eventHandlers: { load: (kind: string) => EventHandler } = {
  load(kind) {
    throw new Error(`There are no ${kind} events`);
  },
};

let worker: Worker | null = null;
let env: unknown = null;

/** Sets the worker and calls it for all waiting requests. */
export function serve(exported: Worker, bindings: unknown): void {
  worker = exported;
  env = bindings;
  limitWorker();
  release();
}

// Matches a URL that is already serialized as in the URL Standard, as nearly all are.
const PLAIN_URL = /^[!$&-;=?-Z_a-z~%[\]@]*$/;

function serialised(url: string): string {
  return PLAIN_URL.test(url) && !url.includes('/.') && !url.includes('%2e') && !url.includes('%2E')
    ? url
    : new URL(url).href;
}

/** Target of the request in the next record; null means the worker. */
let nextCallee: Callee | null = null;

/** Sets the target of the next request. @param callee as JSON. */
export function setCallee(callee: string): void {
  nextCallee = fromJson(callee) as Callee;
}

/** @param isOfObject whether it is an event of a durable object, whose address comes first. */
export function startRequest(reader: RecordReader, isOfObject = false): void {
  const callee = nextCallee;
  nextCallee = null;
  const invocation = new GuestInvocation(reader.number(), requestLimitMs());
  const address = isOfObject ? (reader.part(reader.field()) as string) : null;
  const method = reader.field();
  const url = reader.part(reader.field()) as string;
  const headerBlock = reader.part(reader.field()) as string;
  const bodyField = reader.field();
  const body =
    bodyField === NOTHING
      ? null
      : bodyField === STREAM
        ? bodyToGuest(invocation.id, invocation)
        : reader.part(bodyField);
  // A fresh isolate serves this request, because in this one, it could run into the same endless loop as the previous
  // one.
  if (
    isCondemned() &&
    !isOfObject &&
    bodyField === NOTHING &&
    (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
  ) {
    send(toHost.unstarted, invocation.id);
    return;
  }
  openInvocation(invocation);
  if (!isServing()) {
    callLater(invocation, () => callFetch(invocation, method, url, headerBlock, body, address, callee));
    return;
  }
  touch(invocation);
  enterContext(invocation);
  callFetch(invocation, method, url, headerBlock, body, address, callee);
}

function callFetch(
  invocation: GuestInvocation,
  method: string,
  url: string,
  headerBlock: string,
  body: Parameters<typeof createIncomingRequest>[3],
  address: string | null,
  callee: Callee | null,
): void {
  try {
    if (callee?.isSession === true) {
      answerSession(mainOf(callee, env, invocation), body as Part | null, invocation, false);
      return;
    }
    const of = address === null ? null : (fromJson(address) as { readonly op: string });
    if (of?.op === 'rpc') {
      answerSession(objectModule().session(of, env, invocation), body as Part | null, invocation, true);
      return;
    }
    if (address === null && callee === null && typeof worker?.fetch !== 'function') {
      fail(invocation, { code: 'no_fetch_handler', name: 'Error', message: '' });
      return;
    }
    const request = createIncomingRequest(method, serialised(url), headerBlock, body, () => invocation.signal());
    const result =
      of !== null
        ? objectModule().event(of, request, env, invocation)
        : callee === null
          ? worker!.fetch!(request, env, contextOf(null, invocation))
          : fetchEntrypoint(callee, request, env, contextOf(callee, invocation));
    if (isThenable(result)) {
      Promise.resolve(result).then(
        (value) => answer(invocation, value),
        (error: unknown) => fail(invocation, threw(error)),
      );
    } else {
      answer(invocation, result);
    }
  } catch (error) {
    fail(invocation, threw(error));
  } finally {
    enterContext(undefined);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value !== null && typeof value === 'object' && typeof (value as { then?: unknown }).then === 'function';
}

export function startSocketEvent(reader: RecordReader): void {
  const invocation = new GuestInvocation(reader.number(), requestLimitMs());
  const event = reader.part(reader.field()) as string;
  const data = reader.part(reader.field());
  openInvocation(invocation);
  if (!isServing()) {
    callLater(invocation, () => callSocketEvent(invocation, event, data));
    return;
  }
  touch(invocation);
  enterContext(invocation);
  callSocketEvent(invocation, event, data);
}

function callSocketEvent(invocation: GuestInvocation, event: string, data: Part | null): void {
  try {
    objectModule()
      .socketEvent(fromJson(event), data, env, invocation)
      .then(
        () => answerSocketEvent(invocation),
        (error: unknown) => fail(invocation, threw(error)),
      );
  } catch (error) {
    fail(invocation, threw(error));
  } finally {
    enterContext(undefined);
  }
}

export function startEvent(reader: RecordReader): void {
  const id = reader.number();
  const kind = reader.field();
  const invocation = new GuestInvocation(id, reader.number());
  limitEvent(invocation.limit);
  const head = reader.part(reader.field()) as string;
  const bodies = reader.parts() as string[];
  openInvocation(invocation);
  if (!isServing()) {
    callLater(invocation, () => callEvent(invocation, kind, head, bodies));
    return;
  }
  touch(invocation);
  enterContext(invocation);
  callEvent(invocation, kind, head, bodies);
}

function callEvent(invocation: GuestInvocation, kind: string, head: string, bodies: readonly string[]): void {
  try {
    // This is always a promise, so that no part of a handler runs before its event is complete.
    eventHandlers
      .load(kind)(worker, env, new ExecutionContext(invocation, onSettled), fromJson(head), bodies)
      .then(
        (result) => answerEvent(invocation, result),
        (error: unknown) => fail(invocation, isMissingHandler(error) ? missingHandler(error) : threw(error)),
      );
  } catch (error) {
    fail(invocation, threw(error));
  } finally {
    enterContext(undefined);
  }
}

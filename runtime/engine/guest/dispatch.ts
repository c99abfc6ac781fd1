// One entry into the isolate: reads the records from the host, starts requests and resumes waiting code; entry-end.ts
// ends it. Hot path: objects are allocated only for requests that need them.
import { RecordReader, NOTHING, STREAM, toGuest, toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { answer, answerEvent, answerSocketEvent, fail, finish, onSettled } from './answers.ts';
import { failCall, gateOf, settleCall } from './calls.ts';
import { enterContext, type Native } from './context.ts';
import { connectEntryEnd, flush, forgetWake, isCondemned, type Leave } from './entry-end.ts';
import { beginEntry, findInvocation, GuestInvocation, openInvocation, touch } from './invocation.ts';
import { onRejection, threw } from './rejections.ts';
import { runFinalizers } from './fences.ts';
import { objectModule, settleObjects } from './object-records.ts';
import { fromJson } from './safe.ts';
import { send } from './records.ts';
import { socketClosed, socketFailed, socketMessage } from './sockets.ts';
import { breakStream, endStream, bodyToGuest, pushChunk, spliceStream } from './bodies-to-guest.ts';
import { cancelPump, creditPump } from './pumps.ts';
import { reportUncaught } from './web/console.ts';
import { createIncomingRequest } from './web/request.ts';
import { URL } from './web/url.ts';
import { dueTimers } from './web/timers.ts';
import { limitEvent, limitWorker, requestLimitMs } from './cpu-limits.ts';
import { ExecutionContext } from './execution-context.ts';
import { answerSession, contextOf, fetchEntrypoint, mainOf, type Callee } from './entrypoints.ts';
import { isMissingHandler, missingHandler } from './missing-handler.ts';

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
let start: () => void = () => {};
let native: Native;

/** Connects the dispatcher to its isolate. */
export function connectDispatch(functions: Native, answer: Leave, onStart: () => void): void {
  native = functions;
  start = onStart;
  connectEntryEnd(answer, () => early === null);
  native.bind(enter, flush, onRejection, answer);
}

/**
 * Calls that arrived before the worker serves, as a linked list; null once it serves. An isolate's first entry brings
 * its first requests.
 */
let early: Early | null = { call: () => {}, invocation: null, next: null };
let lastEarly = early;

interface Early {
  readonly call: () => void;
  readonly invocation: GuestInvocation | null;
  next: Early | null;
}

function callLater(invocation: GuestInvocation, call: () => void): void {
  lastEarly.next = { call, invocation, next: null };
  lastEarly = lastEarly.next;
}

/** Sets the worker and calls it for all waiting requests. */
export function serve(exported: Worker, bindings: unknown): void {
  worker = exported;
  env = bindings;
  limitWorker();
  released = early;
  early = null;
  callReleased();
}

/** Still set after an entry that was terminated while one of them ran. */
let released: Early | null = null;

function callReleased(): void {
  while (released !== null) {
    const { invocation, call } = released;
    released = released.next;
    // Its client may have disconnected meanwhile.
    if (invocation === null || invocation.over) continue;
    touch(invocation);
    enterContext(invocation);
    call();
  }
}

/**
 * The records being read. Still set after an entry that was terminated while a handler ran: its fields are read, its
 * record is not closed.
 */
let unread: RecordReader | null = null;

function enter(meta: string, text: string, ...bytes: Uint8Array[]): void {
  beginEntry();
  try {
    // Records that a previous entry did not read because it was terminated.
    const rest = unread;
    callReleased();
    if (rest !== null) {
      rest.close();
      readAll(rest);
    }
    readAll(new RecordReader(meta, text, bytes));
    settleObjects();
  } catch (error) {
    unread = null;
    // A bug of ours, or a built-in broken by the tenant: the tenant's log gets the error.
    enterContext(undefined);
    reportUncaught(error, 'The platform could not deliver an event:', undefined);
    // Otherwise unread requests would wait for a response until the wall limit.
    send(toHost.fault, 'answer');
  }
}

function readAll(reader: RecordReader): void {
  unread = reader;
  read(reader);
  unread = null;
}

function read(reader: RecordReader): void {
  for (let letter = reader.next(); letter !== ''; letter = reader.next()) {
    switch (letter) {
      case toGuest.request:
        startRequest(reader);
        break;
      case toGuest.callee:
        nextCallee = fromJson(reader.part(reader.field()) as string) as Callee;
        break;
      case toGuest.event:
        startEvent(reader);
        continue; // parts() has read the record
      case toGuest.result: {
        const id = reader.number();
        const value = reader.json();
        const parts = reader.parts();
        const gate = gateOf(id);
        if (gate?.isClosed === true) gate.later(() => touch(settleCall(id, value, parts)));
        else touch(settleCall(id, value, parts));
        settleObjects();
        continue; // parts() has read the record
      }
      case toGuest.failure: {
        const id = reader.number();
        const failure = reader.json() as Failure;
        const gate = gateOf(id);
        if (gate?.isClosed === true) gate.later(() => touch(failCall(id, failure)));
        else touch(failCall(id, failure));
        settleObjects();
        break;
      }
      case toGuest.object:
        startRequest(reader, true);
        settleObjects();
        break;
      case toGuest.socketEvent:
        startSocketEvent(reader);
        settleObjects();
        break;
      case toGuest.forget:
        objectModule().forget(reader.part(reader.field()) as string);
        break;
      case toGuest.chunk: {
        const id = reader.number();
        pushChunk(id, reader.part(reader.field()) as Uint8Array);
        break;
      }
      case toGuest.end:
        endStream(reader.number());
        break;
      case toGuest.spliced:
        spliceStream(reader.number());
        break;
      case toGuest.broken:
        breakStream(reader.number(), reader.json() as Failure);
        break;
      case toGuest.credit:
        creditPump(reader.number(), reader.number());
        break;
      case toGuest.cancel:
        cancelPump(reader.number());
        break;
      case toGuest.socketMessage: {
        const id = reader.number();
        socketMessage(id, reader.part(reader.field()) as Part);
        break;
      }
      case toGuest.socketFailed: {
        const id = reader.number();
        socketFailed(id, reader.json() as string);
        break;
      }
      case toGuest.socketClosed: {
        const id = reader.number();
        const code = reader.number();
        const reason = reader.json() as string;
        socketClosed(id, code, reason, reader.field() === '1');
        break;
      }
      case toGuest.hostCpu: {
        const invocation = findInvocation(reader.number());
        const cpuMs = reader.number();
        invocation?.spendOnHost(cpuMs);
        break;
      }
      case toGuest.start:
        start();
        break;
      case toGuest.timers:
        runFinalizers();
        dueTimers();
        forgetWake();
        break;
      case toGuest.abort:
      case toGuest.clientGone: {
        const invocation = findInvocation(reader.number());
        const failure = reader.json() as Failure;
        if (invocation === null) break;
        touch(invocation);
        enterContext(invocation);
        invocation.abort(abortReason(failure));
        enterContext(undefined);
        // A handler that has been called outlives its client.
        if (letter === toGuest.abort || early !== null) finish(invocation);
        break;
      }
      default:
        throw new Error(`Unknown record ${letter}`);
    }
    reader.close();
  }
}

// A URL that is already serialized as in the URL Standard: nearly all of them.
const PLAIN_URL = /^[!$&-;=?-Z_a-z~%[\]@]*$/;

function serialised(url: string): string {
  return PLAIN_URL.test(url) && !url.includes('/.') && !url.includes('%2e') && !url.includes('%2E')
    ? url
    : new URL(url).href;
}

/** Target of the request in the next record; null: the worker. */
let nextCallee: Callee | null = null;

/** @param isOfObject an event of a durable object, whose address comes first. */
function startRequest(reader: RecordReader, isOfObject = false): void {
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
  // In this isolate it might meet the cause of the previous loop: a fresh isolate serves it.
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
  if (early !== null) {
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

function startSocketEvent(reader: RecordReader): void {
  const invocation = new GuestInvocation(reader.number(), requestLimitMs());
  const event = reader.part(reader.field()) as string;
  const data = reader.part(reader.field());
  openInvocation(invocation);
  if (early !== null) {
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

function startEvent(reader: RecordReader): void {
  const id = reader.number();
  const kind = reader.field();
  const invocation = new GuestInvocation(id, reader.number());
  limitEvent(invocation.limit);
  const head = reader.part(reader.field()) as string;
  const bodies = reader.parts() as string[];
  openInvocation(invocation);
  if (early !== null) {
    callLater(invocation, () => callEvent(invocation, kind, head, bodies));
    return;
  }
  touch(invocation);
  enterContext(invocation);
  callEvent(invocation, kind, head, bodies);
}

function callEvent(invocation: GuestInvocation, kind: string, head: string, bodies: readonly string[]): void {
  try {
    // Always a promise: nothing of a handler runs before its event is complete.
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

function abortReason(failure: Failure): unknown {
  const error = new Error(failure.message);
  error.name = 'AbortError';
  return error;
}

// One entry into the isolate: reads the records the host sent, starts requests, resumes what waited, and at the end of all
// microtasks (`flush`, called by the native half) shares out the CPU and sends everything back at once. Hot path: each
// object here is made per request only where the request needs it.
import { FIELD, Inbox, NOTHING, RECORD, STREAM, toGuest, toHost, type Failure } from '../bridge/protocol.ts';
import { failCall, pendingCalls, settleCall } from './calls.ts';
import { enterContext, type Account, type Native } from './context.ts';
import { beginEntry, currentInvocation, Invocation, touch, touchedInvocations } from './invocation.ts';
import { outbox, send } from './outbox.ts';
import { breakStream, cancelPump, creditPump, endStream, hasOpenStreams, incomingBody, openPump, pushChunk } from './streams.ts';
import { fireOnGlobal } from './fetch-event.ts';
import { reportUncaught } from './web/console.ts';
import { ErrorEvent, PromiseRejectionEvent } from './web/event-classes.ts';
import { uncaught } from './web/report-error.ts';
import { createIncomingRequest } from './web/request.ts';
import { takeResponse } from './web/response.ts';
import { URL } from './web/url.ts';
import { dueTimers, hasTimers, nextWake } from './web/timers.ts';
import { ExecutionContext } from './execution-context.ts';

/** A worker's default export as dispatch calls it. */
export interface Worker {
  fetch?: (request: unknown, env: unknown, context: unknown) => unknown;
}

let worker: Worker | null = null;
let env: unknown = null;
let cpuLimitMs = 0;
let native: Native;
let leave: (meta: string, text: string, shareMs: number, cpuMs: number, ...bytes: Uint8Array[]) => void;

const open: Invocation[] = [];
let lastWake = -1;

/** Connects the dispatcher to its isolate. */
export function connectDispatch(functions: Native, answer: typeof leave): void {
  native = functions;
  leave = answer;
  native.bind(enter, flush, onRejection);
}

/** Gives it the worker to call and the CPU limit of a request. */
export function serve(exported: Worker, bindings: unknown, limits: { cpuLimitMs: number }): void {
  worker = exported;
  env = bindings;
  cpuLimitMs = limits.cpuLimitMs;
}

/** The inbox being read. Still set after an entry that was ended while a handler ran: its fields are read, its record is not closed. */
let unread: Inbox | null = null;

function enter(meta: string, text: string, ...bytes: Uint8Array[]): void {
  beginEntry();
  try {
    // What an entry before this one could not read because it was ended in the middle.
    const rest = unread;
    if (rest !== null) {
      rest.close();
      readAll(rest);
    }
    readAll(new Inbox(meta, text, bytes));
  } catch (error) {
    unread = null;
    // Our own fault, or a tenant broke a built-in that we use: its log says so.
    enterContext(undefined);
    reportUncaught(error, 'The platform could not deliver an event:', undefined);
  }
}

function readAll(inbox: Inbox): void {
  unread = inbox;
  read(inbox);
  unread = null;
}

function read(inbox: Inbox): void {
  for (let letter = inbox.next(); letter !== ''; letter = inbox.next()) {
    switch (letter) {
      case toGuest.request:
        startRequest(inbox);
        break;
      case toGuest.result: {
        const id = inbox.number();
        const value = inbox.json();
        touch(settleCall(id, value, inbox.parts()));
        continue; // parts() has left the record
      }
      case toGuest.failure:
        touch(failCall(inbox.number(), inbox.json() as Failure));
        break;
      case toGuest.chunk: {
        const id = inbox.number();
        pushChunk(id, inbox.part(inbox.field()) as Uint8Array);
        break;
      }
      case toGuest.end:
        endStream(inbox.number());
        break;
      case toGuest.broken:
        breakStream(inbox.number(), inbox.json() as Failure);
        break;
      case toGuest.credit:
        creditPump(inbox.number(), inbox.number());
        break;
      case toGuest.cancel:
        cancelPump(inbox.number());
        break;
      case toGuest.timers:
        dueTimers();
        lastWake = -1;
        break;
      case toGuest.abort: {
        const id = inbox.number();
        const failure = inbox.json() as Failure;
        const invocation = open.find((candidate) => candidate.id === id);
        if (invocation === undefined) break;
        touch(invocation);
        enterContext(invocation);
        invocation.abort(abortReason(failure));
        enterContext(undefined);
        finish(invocation);
        break;
      }
      default:
        throw new Error(`Unknown record ${letter}`);
    }
    inbox.close();
  }
}

// A URL that the URL Standard would write as it is: nearly all of them.
const PLAIN_URL = /^[!$&-;=?-Z_a-z~%[\]@]*$/;

function serialised(url: string): string {
  return PLAIN_URL.test(url) && !url.includes('/.') && !url.includes('%2e') && !url.includes('%2E') ? url : new URL(url).href;
}

function startRequest(inbox: Inbox): void {
  const invocation = new Invocation(inbox.number(), cpuLimitMs);
  const method = inbox.field();
  const url = serialised(inbox.part(inbox.field()) as string);
  const headerBlock = inbox.part(inbox.field()) as string;
  const bodyField = inbox.field();
  const body = bodyField === NOTHING ? null : bodyField === STREAM ? incomingBody(invocation.id, invocation) : inbox.part(bodyField);
  open.push(invocation);
  touch(invocation);
  enterContext(invocation);
  try {
    if (typeof worker?.fetch !== 'function') {
      fail(invocation, { code: 'no_fetch_handler', name: 'Error', message: '' });
      return;
    }
    const request = createIncomingRequest(method, url, headerBlock, body, () => invocation.signal());
    const result = worker.fetch(request, env, new ExecutionContext(invocation, onSettled));
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

function answer(invocation: Invocation, value: unknown): void {
  if (invocation.answered) return;
  let taken;
  try {
    taken = takeResponse(value);
  } catch (error) {
    fail(invocation, threw(error));
    return;
  }
  if (taken === null) {
    fail(invocation, { code: 'no_response', name: 'TypeError', message: describe(value) });
    return;
  }
  invocation.answered = true;
  const body = taken.body;
  const streamed = body !== null && typeof body !== 'string' && !(body instanceof Uint8Array);
  // Written by hand: this is the one record of every plain request.
  outbox.meta +=
    toHost.response +
    FIELD +
    invocation.id +
    FIELD +
    taken.status +
    FIELD +
    outbox.part(taken.headerBlock) +
    FIELD +
    (streamed ? STREAM : outbox.part(body)) +
    FIELD;
  if (streamed) {
    outbox.meta += FIELD + RECORD;
    invocation.waiting++;
    openPump(invocation.id, body, () => onSettled(invocation));
  } else if (invocation.waiting === 0) {
    outbox.meta += `1${FIELD}${RECORD}`;
    close(invocation);
  } else {
    outbox.meta += FIELD + RECORD;
  }
}

function fail(invocation: Invocation, failure: Failure): void {
  if (invocation.answered) return;
  invocation.answered = true;
  send(toHost.failed, invocation.id, JSON.stringify(invocation.passThrough ? { ...failure, passThrough: true } : failure));
  if (invocation.waiting === 0) finish(invocation);
}

/** One thing less to wait for: a promise of `waitUntil` has settled, or the response's stream has ended. */
function onSettled(invocation: Invocation): void {
  invocation.waiting--;
  if (invocation.waiting === 0 && invocation.answered) finish(invocation);
}

function finish(invocation: Invocation): void {
  if (invocation.over) return;
  send(toHost.done, invocation.id);
  close(invocation);
}

function close(invocation: Invocation): void {
  invocation.over = true;
  const at = open.indexOf(invocation);
  const last = open.pop() as Invocation;
  if (at >= 0 && at < open.length) open[at] = last;
}

function flush(cpuMs: number, unchargedMs: number, breached: Account | undefined): void {
  const touched = touchedInvocations();
  const share = touched.length > 0 ? unchargedMs / touched.length : 0;
  for (const invocation of touched) {
    const used = (invocation.used += share);
    if (used !== share) send(toHost.charge, invocation.id, used.toFixed(3));
  }
  if (breached !== undefined) onBreach(breached, touched);
  else if (open.length > 0) endHung();
  const wake = nextWake();
  if (wake !== lastWake) {
    lastWake = wake;
    send(toHost.wake, wake);
  }
  const { meta, text, bytes } = outbox;
  outbox.meta = '';
  outbox.text = '';
  if (bytes.length > 0) outbox.bytes = [];
  leave(meta, text, share, cpuMs, ...bytes);
}

// The native half ended the entry in the middle: V8 dropped all queued continuations, so nothing that ran in this entry and
// has not finished can be trusted to go on.
function onBreach(account: Account, touched: readonly Invocation[]): void {
  const lost = touched.filter((invocation) => !invocation.over && invocation !== account).map((invocation) => invocation.id);
  const id = account instanceof Invocation ? account.id : 0;
  send(toHost.breach, id, account.used.toFixed(3), lost.join(','));
  if (account instanceof Invocation && !account.over) close(account);
}

function endHung(): void {
  if (pendingCalls() > 0 || hasTimers() || hasOpenStreams()) return;
  const hung = open.filter((invocation) => !invocation.answered || invocation.waiting > 0);
  if (hung.length === 0) return;
  for (const invocation of hung) {
    invocation.answered = true;
    close(invocation);
  }
  send(toHost.hung, hung.map((invocation) => invocation.id).join(','));
}

uncaught.report = (error) => {
  const handled = fireOnGlobal('error', () => new ErrorEvent('error', { error, message: errorParts(error).message, cancelable: true }));
  if (!handled) reportUncaught(error, 'Uncaught', currentInvocation());
};

const unhandled: { promise: Promise<unknown>; reason: unknown; invocation: Invocation | undefined }[] = [];

function onRejection(isUnhandled: boolean, promise: Promise<unknown>, reason: unknown): void {
  if (isUnhandled) {
    unhandled.push({ promise, reason, invocation: currentInvocation() });
    if (unhandled.length === 1) Promise.resolve().then(reportLater);
  } else {
    const at = unhandled.findIndex((rejection) => rejection.promise === promise);
    if (at >= 0) unhandled.splice(at, 1);
  }
}

/** The error that a worker's top level ended with: its module's promise is rejected before anything serves. */
export function startFailure(): string | null {
  if (worker !== null || unhandled.length === 0) return null;
  const { reason } = unhandled[0] as { reason: unknown };
  const { name, message, stack } = errorParts(reason);
  return stack ?? `${name}: ${message}`;
}

// A handler attached a few microtasks later is no unhandled rejection: wait for some turns before saying so.
function reportLater(turn: unknown = 0): void {
  if (worker === null) return; // the top level has failed: startFailure says so
  if (typeof turn === 'number' && turn < 8) {
    Promise.resolve(turn + 1).then(reportLater);
    return;
  }
  for (const { promise, reason, invocation } of unhandled.splice(0)) {
    const handled = fireOnGlobal(
      'unhandledrejection',
      () => new PromiseRejectionEvent('unhandledrejection', { promise, reason, cancelable: true }),
    );
    if (!handled) reportUncaught(reason, 'Uncaught (in promise)', invocation);
  }
}

/** What the host and the log see of a thrown value, whatever it is. */
function threw(error: unknown): Failure {
  const { name, message, stack } = errorParts(error);
  return { code: 'worker_threw', name, message, ...(stack === undefined ? {} : { stack }) };
}

function errorParts(error: unknown): { name: string; message: string; stack?: string } {
  try {
    if (error !== null && typeof error === 'object' && 'message' in error) {
      const { name, message, stack } = error as { name?: unknown; message: unknown; stack?: unknown };
      return { name: String(name ?? 'Error'), message: String(message), ...(typeof stack === 'string' ? { stack } : {}) };
    }
    return { name: 'Error', message: String(error) };
  } catch {
    return { name: 'Error', message: 'a value that cannot be shown' };
  }
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
}

function abortReason(failure: Failure): unknown {
  const error = new Error(failure.message);
  error.name = 'AbortError';
  return error;
}

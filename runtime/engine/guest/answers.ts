// Completes an invocation: sends its response, its event's result, or the reason why there is none. The invocation is
// over when it has nothing left to wait for. Used by dispatch.ts. Hot path: objects are allocated only for responses
// that need them.
import { FIELD, NOTHING, RECORD, STREAM, toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { ExecutionContext } from './execution-context.ts';
import { host, type HostBody } from './host.ts';
import { closeInvocation, currentInvocation, touch, type GuestInvocation } from './invocation.ts';
import { records, send } from './records.ts';
import { threw } from './rejections.ts';
import { toJson } from './safe.ts';
import { byteLengthOf } from './free-buffers.ts';
import { handOver, sendWebSocket, socketClasses } from './sockets.ts';
import { inPieces, openPump, WHOLE_BYTES_MAX } from './pumps.ts';
import { takeResponse } from './web/response.ts';

/** Reports that an event of a durable object's WebSocket was handled. */
export function answerSocketEvent(invocation: GuestInvocation): void {
  if (invocation.answered) return;
  invocation.answered = true;
  const isOver = endsNow(invocation);
  send(toHost.response, invocation.id, 200, records.part(''), NOTHING, isOver ? '1' : '');
  if (isOver) closeInvocation(invocation);
}

/** Sends the result of an event other than a request. */
export function answerEvent(invocation: GuestInvocation, result: unknown): void {
  if (invocation.answered) return;
  let text: string;
  try {
    text = toJson(result ?? null);
  } catch (error) {
    fail(invocation, threw(error));
    return;
  }
  invocation.answered = true;
  const isOver = endsNow(invocation);
  send(toHost.eventResult, invocation.id, records.part(text), isOver ? '1' : '');
  if (isOver) closeInvocation(invocation);
}

/** Maximum size of a response's header block; listeners allow less. */
const HEADERS_MAX = 1024 * 1024;

/** Longer texts cross the bridge as bytes, because texts are concatenated, copied and measured on both sides. */
const TEXT_CHARS_MAX = 32 * 1024;

/** Sends a handler's response. */
export function answer(invocation: GuestInvocation, value: unknown): void {
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
  if (taken.webSocket !== null) {
    answerWithSocket(invocation, taken.webSocket, taken.headerBlock);
    return;
  }
  if (taken.headerBlock.length > HEADERS_MAX) {
    fail(invocation, {
      code: 'worker_threw',
      name: 'RangeError',
      message: `Response headers of ${taken.headerBlock.length} characters cannot be sent`,
    });
    return;
  }
  invocation.answered = true;
  let { body, headerBlock } = taken;
  if (typeof body === 'string' && body.length > TEXT_CHARS_MAX) {
    body = host.utf8Encode(body);
    if (body.length <= WHOLE_BYTES_MAX) records.freeAfterEntry(body);
  }
  if (body instanceof Uint8Array && body.length > WHOLE_BYTES_MAX) {
    if (!/(?:^|\0)content-length\0/.test(headerBlock)) headerBlock += `content-length\0${byteLengthOf(body)}\0`;
    body = inPieces(body);
  }
  const streamed = body !== null && typeof body !== 'string' && !(body instanceof Uint8Array);
  // This code is inlined, because it writes the record of every plain request.
  records.meta +=
    toHost.response +
    FIELD +
    invocation.id +
    FIELD +
    // The status is converted to a number, in case a patched built-in returned another type.
    +taken.status +
    FIELD +
    records.part(headerBlock) +
    FIELD +
    (streamed ? STREAM : records.part(body as Part | null)) +
    FIELD;
  if (streamed) {
    records.meta += FIELD + RECORD;
    invocation.waiting++;
    openPump(invocation.id, body as HostBody, () => onSettled(invocation));
  } else if (endsNow(invocation)) {
    records.meta += `1${FIELD}${RECORD}`;
    closeInvocation(invocation);
  } else {
    records.meta += FIELD + RECORD;
  }
}

/** The invocation continues as long as the socket is open. */
function answerWithSocket(invocation: GuestInvocation, socket: unknown, headerBlock: string): void {
  const internals = socketClasses.internalsOf(socket)!;
  try {
    internals.checkSendable();
  } catch (error) {
    fail(invocation, threw(error));
    return;
  }
  const isOver = endsNow(invocation);
  if (handOver(internals, invocation.id, headerBlock, isOver)) {
    invocation.answered = true;
    if (isOver) closeInvocation(invocation);
    return;
  }
  // This record is sent before the messages that are queued in the socket.
  send(toHost.upgrade, invocation.id, records.part(headerBlock));
  sendWebSocket(internals, invocation, () => {
    invocation.isSocketOpen = false;
    onSettled(invocation);
  });
  invocation.answered = true;
  invocation.isSocketOpen = true;
  invocation.waiting++;
}

/** Reports why there is no response. */
export function fail(invocation: GuestInvocation, failure: Failure): void {
  if (invocation.answered) return;
  invocation.answered = true;
  const said = invocation.passThrough ? { ...failure, passThrough: true } : failure;
  const isOver = endsNow(invocation);
  send(toHost.failed, invocation.id, toJson(said), isOver ? '1' : '');
  if (isOver) closeInvocation(invocation);
}

/** The function `waitUntil` of the current invocation. */
export function waitUntil(promise: unknown): void {
  const invocation = currentInvocation();
  if (invocation === undefined) throw new Error('waitUntil was called outside of an invocation');
  new ExecutionContext(invocation, onSettled).waitUntil(promise);
}

/**
 * Whether an invocation ends with its response. An event of an object ends with an entry, because code that nobody
 * awaits may have more work.
 */
function endsNow(invocation: GuestInvocation): boolean {
  if (!invocation.isKept) return invocation.waiting === 0;
  touch(invocation);
  return false;
}

/** Called when a promise of `waitUntil` has settled, or the response's stream has ended. */
export function onSettled(invocation: GuestInvocation): void {
  invocation.waiting--;
  if (invocation.isKept) touch(invocation);
  else if (invocation.waiting === 0 && invocation.answered) finish(invocation);
}

/** Nothing is pending. */
export function finish(invocation: GuestInvocation): void {
  if (invocation.over) return;
  send(toHost.done, invocation.id);
  closeInvocation(invocation);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
}

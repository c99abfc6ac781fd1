// Sends the responses of one isolate's workers to clients: passes each from the guest's record to the exchange in one
// step, complete, as a stream, or as an open WebSocket. Made by dispatch.ts.
import { performance } from 'node:perf_hooks';
import type { ErrorDetails, PlatformError } from '#core/errors.ts';
import type { Link } from '../bridge/link.ts';
import { STREAM, type Part, type RecordReader } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { withoutInvalidLength } from '../http/header-block.ts';
import { JoinedWires } from '../http/joined-wires.ts';
import { PairedWire } from '../http/socket-pair.ts';
import { isHttp, type AnyInvocation, type HttpInvocation } from '../invocation/invocation.ts';
import { failed, ok, type Outcome } from '../invocation/outcome.ts';
import { recordedStatus, type IsolateObjects } from './objects/isolate-objects.ts';
import type { RunningInvocations } from './running-invocations.ts';
import type { ServedDeployment } from './served-deployment.ts';

/** Sink for a discarded body. */
const DISCARD = { write: () => true, end: () => {}, destroy: () => {} };

/** Dependencies of sending responses. */
interface ResponseDeps {
  readonly deployment: ServedDeployment;
  readonly link: Link;
  readonly running: RunningInvocations;
  /** The worker's isolate. */
  readonly isolate: { readonly isCondemned: boolean };
  /** The objects of the isolate; null in all lanes except that of durable objects. */
  readonly objects: IsolateObjects | null;
}

export class Responses {
  #deployment: ServedDeployment;
  #link: Link;
  #running: RunningInvocations;
  #isolate: { readonly isCondemned: boolean };
  #objects: IsolateObjects | null;

  constructor({ deployment, link, running, isolate, objects }: ResponseDeps) {
    this.#objects = objects;
    this.#deployment = deployment;
    this.#link = link;
    this.#running = running;
    this.#isolate = isolate;
  }

  respond(reader: RecordReader): void {
    const id = reader.number();
    const status = reader.number();
    const headerBlock = reader.part(reader.field()) as string;
    const field = reader.field();
    const body = field === STREAM ? undefined : reader.part(field);
    const isOver = reader.field() === '1';
    const invocation = this.#running.get(id);
    if (invocation !== undefined && isHttp(invocation)) this.#send(invocation, status, headerBlock, body, isOver);
    else if (body === undefined) this.#refuseStream(id);
  }

  /** @param body the body; undefined if it follows as a stream. @param isOver whether no further record follows. */
  #send(
    invocation: HttpInvocation,
    status: number,
    headerBlock: string,
    body: Part | null | undefined,
    isOver: boolean,
  ): void {
    this.#running.unanswered = 0;
    const { id, answer: exchange } = invocation;
    if (invocation.isClientGone) {
      invocation.phase = 'answered';
      this.#running.breakBody(id);
      if (body === undefined) this.#refuseStream(id);
      if (isOver) this.#running.end(id, ok);
      return;
    }
    invocation.status = invocation.object === null ? status : recordedStatus(status);
    try {
      if (body !== undefined) {
        exchange.send(status, headerBlock, body, true);
        invocation.phase = 'answered';
        // Only an invocation with `waitUntil` work needs the time; otherwise, the end is now, which saves a reading of
        // the clock.
        if (!isOver) {
          invocation.firstByteAt = invocation.answeredAt = performance.now();
          this.#answered(invocation);
        }
        this.#running.breakBody(id);
      } else {
        exchange.begin(status, headerBlock);
        invocation.phase = 'answered';
        invocation.firstByteAt = performance.now();
        if (exchange.method === 'HEAD') {
          exchange.end();
          this.#refuseStream(id);
          return;
        }
        this.#stream(invocation);
      }
    } catch (error) {
      const repaired = withoutInvalidLength(headerBlock, error);
      if (repaired !== null) {
        this.#deployment.log('warn', 'Response content-length dropped: not a number', invocation);
        this.#send(invocation, status, repaired, body, isOver);
        return;
      }
      this.#deployment.log('error', `Response not sent: ${(error as Error).message}`, invocation);
      if (body === undefined) this.#refuseStream(id);
      this.#running.end(id, unsent(error as Error));
      return;
    }
    if (exchange.refusedCookies !== '') this.#warnOfCookies(invocation);
    if (isOver) this.#running.end(id, ok);
  }

  #stream(invocation: HttpInvocation): void {
    const { id, answer: exchange } = invocation;
    const stream = this.#link.receiveStream(id, {
      write: (chunk, transfer) => exchange.write(chunk, transfer),
      end: () => {
        exchange.end();
        invocation.answeredAt = performance.now();
        this.#running.breakBody(id);
      },
      destroy: () => exchange.destroy(),
    });
    const onDrain = (): void => stream.drained();
    exchange.onDrain = onDrain;
  }

  #warnOfCookies(invocation: HttpInvocation): void {
    const { refusedCookies, host } = invocation.answer;
    this.#deployment.log(
      'warn',
      `Cookies dropped: Domain is not the host of the request (${host}): ${refusedCookies}`,
      invocation,
    );
  }

  /** Tells the guest to stop sending a body that is not needed. */
  #refuseStream(id: number): void {
    this.#link.receiveStream(id, DISCARD);
    this.#link.cancelStream(id);
  }

  /**
   * Handles a response with a WebSocket that a call of the worker has opened: the two sockets are joined, and the
   * invocation is over.
   */
  join(reader: RecordReader): void {
    const id = reader.number();
    const headerBlock = reader.part(reader.field()) as string;
    const wire = this.#link.takeSocket(reader.number());
    const isOver = reader.field() === '1';
    const invocation = this.#running.get(id);
    if (!(wire instanceof PairedWire)) {
      if (invocation !== undefined)
        this.#running.end(id, failed('worker_threw', { reason: 'The WebSocket is closed' }));
      return;
    }
    const joined = new JoinedWires(wire);
    if (!this.#open(invocation, headerBlock, joined, (client) => joined.attach(client))) {
      wire.attach(joined);
      wire.cut();
    } else if (isOver) this.#running.end(id, ok);
  }

  /**
   * Handles a response with a WebSocket that a durable object has accepted. The object's engine keeps the socket, so
   * the exchange ends here.
   */
  hold(reader: RecordReader): void {
    const id = reader.number();
    const headerBlock = reader.part(reader.field()) as string;
    const number = reader.number();
    const given = reader.part(reader.field()) as string;
    const isOver = reader.field() === '1';
    const invocation = this.#running.get(id);
    if (this.#objects === null) throw new Error('a WebSocket outside of an object');
    let held;
    try {
      held = this.#objects.accept(number, given);
    } catch (error) {
      if (invocation !== undefined) this.#refused(invocation, error);
      return;
    }
    const { live, socket } = held;
    const { bridged } = socket;
    if (!this.#open(invocation, headerBlock, bridged, (client) => bridged.attach(client))) live.sockets.forget(socket);
    else if (isOver) this.#running.end(id, ok);
    else if (invocation !== undefined) this.#answered(invocation);
  }

  /** Remaining work of an object does not hold back other events. */
  #answered(invocation: AnyInvocation): void {
    const { object } = invocation;
    if (object === null) return;
    // How long an event of a socket may run, as set by the object.
    invocation.wallMsMax = 0;
    this.#running.workLeft(invocation);
    object.socketEvent?.ended(ok);
    this.#objects?.answered(object);
  }

  /** Answers a handshake. @returns false if there is no connection. */
  #open(
    invocation: AnyInvocation | undefined,
    headerBlock: string,
    events: SocketEvents,
    opened: (client: SocketWire) => void,
  ): boolean {
    if (invocation === undefined || !isHttp(invocation)) return false;
    const { answer: exchange } = invocation;
    if (invocation.isClientGone) {
      invocation.phase = 'answered';
      this.#running.end(invocation.id, ok);
      return false;
    }
    invocation.status = 101;
    try {
      const client = exchange.upgrade(headerBlock, events);
      if (client === null) throw new Error('status 101 is only for WebSocket handshakes');
      exchange.onAbort = null;
      invocation.phase = 'answered';
      invocation.firstByteAt = invocation.answeredAt = performance.now();
      opened(client);
    } catch (error) {
      this.#refused(invocation, error);
      return false;
    }
    if (exchange.refusedCookies !== '') this.#warnOfCookies(invocation);
    return true;
  }

  #refused(invocation: AnyInvocation, error: unknown): void {
    const { message, code, details } = error as { message: string; code?: unknown; details?: ErrorDetails };
    this.#deployment.log('error', `Response not sent: ${message}`, invocation);
    const isBound = code === 'websocket_limit_exceeded' || code === 'host_memory_exceeded';
    this.#running.end(invocation.id, isBound ? failed(code, details) : failed('worker_threw', { reason: message }));
  }

  /** Handles a response that opens a WebSocket. */
  upgrade(reader: RecordReader): void {
    const id = reader.number();
    const headerBlock = reader.part(reader.field()) as string;
    const invocation = this.#running.get(id);
    if (invocation === undefined || !isHttp(invocation)) return;
    const { answer: exchange } = invocation;
    const ofCall = exchange.callee?.session != null;
    invocation.status = ofCall ? 200 : 101;
    try {
      const socket = this.#link.openSocket(id, id, ofCall, !ofCall || invocation.object !== null);
      if (invocation.isClientGone) {
        invocation.phase = 'answered';
        socket.closed(1006, '', false);
        return;
      }
      const wire = exchange.upgrade(headerBlock, socket);
      if (wire === null) throw new Error('status 101 is only for WebSocket handshakes');
      invocation.phase = 'answered';
      invocation.firstByteAt = performance.now();
      if (exchange.refusedCookies !== '') this.#warnOfCookies(invocation);
      exchange.onAbort = null;
      if (!ofCall) this.#running.socketOpened(invocation);
      socket.attach(wire);
      if (this.#isolate.isCondemned && !ofCall) socket.close(1012, 'Service restart');
    } catch (error) {
      this.#link.forgetSocket(id);
      this.#refused(invocation, error);
    }
  }
}

/** Ends an invocation whose response the listener refuses. */
function unsent(error: Error): Outcome & { kind: 'failed' } {
  const { code, details, message } = error as Partial<PlatformError> & Error;
  return code === 'illegal_response' ? failed(code, details) : failed('worker_threw', { reason: message });
}

// An RPC session of two workers, or with a durable object, as an exchange for the handler: the called worker answers it
// like a WebSocket handshake, and frames are messages. Created by worker-calls.ts and received-session.ts.
import { PlatformError } from '#core/errors.ts';
import { REFUSED_STATUS } from '#core/object-address.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { headerIn } from './header-block.ts';
import type { BodySink, Callee, Exchange } from './listener.ts';
import { createSocketPair, type PairedWire } from './socket-pair.ts';

/** An address that no machine has, so that code that trusts addresses does not trust workers. */
export const NO_ADDRESS = '192.0.0.8';
/** A longer first frame follows as a message. */
const FRAME_BYTES_MAX = 64 * 1024;
/** Close codes of a socket whose isolate or invocation failed. */
const FAILED_FROM = 1011;
/** Close code between engines, which means that the session failed; the reason is `<error code> <message>`. */
export const SESSION_FAILED = 4500;

/** A session to open. */
interface SessionRequest {
  /** Path of the request for logs and metrics, which is the name of the method. */
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly entrypoint: string | null;
  readonly props: string;
  /** The first frame. */
  readonly frame: Part;
  /** Memory account of the calling worker; null if the worker is in another engine. */
  readonly memory: HostMemory | null;
  /** Whether a durable object is called. */
  readonly isOfObject?: boolean;
}

export class SessionExchange implements Exchange {
  readonly method = 'RPC';
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly remoteAddress = NO_ADDRESS;
  readonly bodyBytes = 0;
  readonly callee: Callee;
  readonly isOfObject: boolean;
  requestId = '';
  refusedCookies = '';
  sentBytes = 0;
  onAbort: (() => void) | null = null;
  onDrain: (() => void) | null = null;
  /** Resolves when the session has ended; rejects with the reason if it failed. */
  readonly done: Promise<void>;
  /** The socket end of the calling worker. */
  readonly wire: PairedWire;
  #inner: PairedWire;
  #project: string;
  #isUpgraded = false;
  #isOver = false;
  #resolve: () => void;
  #reject: (error: Error) => void;

  /** @param project the called project, for errors. */
  constructor(project: string, request: SessionRequest) {
    ({ target: this.target, host: this.host, headerBlock: this.headerBlock } = request);
    this.#project = project;
    this.isOfObject = request.isOfObject === true;
    const { entrypoint, props, frame, memory } = request;
    const isWithRequest = frame.length <= FRAME_BYTES_MAX;
    this.callee = {
      url: `http://${request.host}/`,
      entrypoint,
      props,
      session: { frame: isWithRequest ? frame : null, fail: (error) => this.#fail(error) },
    };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    [this.done, this.#resolve, this.#reject] = [promise, resolve, reject];
    const [wire, inner] = createSocketPair();
    [this.wire, this.#inner] = [wire, inner];
    wire.memory = memory;
    const onClosed = (code: number, reason: string): void => this.#closed(code, reason);
    wire.onClosed = onClosed;
    if (!isWithRequest) wire.send(frame);
  }

  get memory(): HostMemory | null {
    return this.#inner.memory;
  }

  set memory(memory: HostMemory | null) {
    this.#inner.memory = memory;
  }

  /** Whether the calling worker no longer needs the session. */
  get isOver(): boolean {
    return this.#isOver;
  }

  header(name: string): string | null {
    return headerIn(this.headerBlock, name);
  }

  upgrade(_headerBlock: string, events: SocketEvents): SocketWire {
    this.#isUpgraded = true;
    if (this.#isOver) {
      queueMicrotask(() => events.closed(1006, '', false));
      return this.#inner;
    }
    // The bridge sends no frames before its wire is attached.
    queueMicrotask(() => this.#inner.attach(events));
    return this.#inner;
  }

  readBody(sink: BodySink): void {
    sink.end();
  }

  resumeBody(): void {}

  send(status: number, _headerBlock = '', body: string | Uint8Array | null = null): void {
    if (status === REFUSED_STATUS && typeof body === 'string') {
      const { code, message } = JSON.parse(body) as { readonly code: string; readonly message: string };
      this.#fail(errorOf(code, message));
    } else this.#fail(this.#failure(this.isOfObject ? 'its engine ended' : `it answered with status ${status}`));
  }

  begin(status: number): void {
    this.send(status);
  }

  write(): boolean {
    return true;
  }

  end(): void {}

  destroy(): void {
    this.#fail(this.#failure('it was cut off'));
  }

  #failure(reason: string): PlatformError {
    if (this.isOfObject) return new PlatformError('object_reset', { reason });
    return new PlatformError('service_failed', { project: this.#project, reason });
  }

  #closed(code: number, reason: string): void {
    if (!this.#isUpgraded) {
      const { onAbort } = this;
      this.onAbort = null;
      onAbort?.();
    }
    if (code === SESSION_FAILED) {
      const at = reason.indexOf(' ');
      this.#fail(errorOf(reason.slice(0, at), reason.slice(at + 1)));
      return;
    }
    // The end of the invocation, which has the reason, follows in the same turn of the event loop.
    if (code >= FAILED_FROM) setImmediate(() => this.#fail(this.#failure(reason)));
    else this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve();
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reject(error);
    this.wire.close(1000, '');
  }
}

/** Parses an error of another engine. */
function errorOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

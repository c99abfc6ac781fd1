// An RPC session of two workers as an exchange for the handler: the worker that is called answers it as a handshake,
// and frames cross as messages. Made by worker-calls.ts.
import { PlatformError } from '#core/errors.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { headerIn } from './header-block.ts';
import type { BodySink, Callee, Exchange } from './listener.ts';
import { createSocketPair, type PairedWire } from './socket-pair.ts';

/** An address that no machine has, so that nothing that trusts addresses trusts workers. */
export const NO_ADDRESS = '192.0.0.8';
/** Longer first frames follow as a message. */
const FRAME_BYTES_MAX = 64 * 1024;
/** Close codes of sockets whose isolate or invocation failed. */
const FAILED_FROM = 1011;

/** A session to open. */
interface SessionRequest {
  /** Path, for logs and metrics: the name of the method. */
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly entrypoint: string | null;
  readonly props: string;
  /** The first frame. */
  readonly frame: Part;
  /** Memory account of the worker that calls. */
  readonly memory: HostMemory;
}

export class SessionExchange implements Exchange {
  readonly method = 'RPC';
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly remoteAddress = NO_ADDRESS;
  readonly bodyBytes = 0;
  readonly callee: Callee;
  requestId = '';
  refusedCookies = '';
  sentBytes = 0;
  onAbort: (() => void) | null = null;
  onDrain: (() => void) | null = null;
  /** Resolves at the session's end; rejects with the reason if it failed. */
  readonly done: Promise<void>;
  /** The end of the worker that calls. */
  readonly wire: PairedWire;
  #inner: PairedWire;
  #project: string;
  #isUpgraded = false;
  #isOver = false;
  #resolve: () => void;
  #reject: (error: Error) => void;

  /** @param project that is called, for errors. */
  constructor(project: string, request: SessionRequest) {
    ({ target: this.target, host: this.host, headerBlock: this.headerBlock } = request);
    this.#project = project;
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

  /** Whether the worker that calls needs it no more. */
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
    // The bridge sends nothing before it has the wire.
    queueMicrotask(() => this.#inner.attach(events));
    return this.#inner;
  }

  readBody(sink: BodySink): void {
    sink.end();
  }

  resumeBody(): void {}

  send(status: number): void {
    this.#fail(this.#failure(`it answered with status ${status}`));
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
    return new PlatformError('service_failed', { project: this.#project, reason });
  }

  #closed(code: number, reason: string): void {
    if (!this.#isUpgraded) {
      const { onAbort } = this;
      this.onAbort = null;
      onAbort?.();
    }
    // The end of its invocation, which says why, comes in the same turn.
    if (code >= FAILED_FROM) setImmediate(() => this.#fail(this.#failure(reason)));
    else this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve();
  }

  #fail(error: PlatformError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reject(error);
    this.wire.close(1000, '');
  }
}

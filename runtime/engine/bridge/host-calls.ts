// The host's end of host calls: types of the arguments and results of host functions, tables of host functions, and the
// conversion of errors for the guest. Host functions are in runtime/engine/bindings; all their arguments are untrusted.
import type { CallOwner } from './call-owner.ts';
import { isErrorCode, type ErrorCode, errorTable } from '#core/errors.ts';
import type { MainThreadBudget } from './main-thread-budget.ts';
import type { HandleTable } from './handle-table.ts';
import type { HostMemory } from './host-memory.ts';
import type { Failure, Part } from './protocol.ts';
import type { BridgedSocket } from './sockets.ts';
import type { ByteSink, ByteSource } from './streams.ts';
import type { CallSpan } from '../tracing/invocation-spans.ts';

/** The reply of an asynchronous host function. */
export interface HostReply {
  readonly value?: unknown;
  readonly parts?: readonly Part[];
  /** Whether the host no longer needs the parts, so that their memory may be transferred instead of copied. */
  readonly transfer?: boolean;
}

/** A stream into the guest, opened by a host function. */
export interface GuestStream {
  readonly id: number;
  /**
   * Returns false to pause until `source.resume()`. With `transfer`, the caller no longer uses the chunk, so its memory
   * may be transferred instead of copied.
   */
  write(chunk: Uint8Array, transfer?: boolean): boolean;
  end(): void;
  break(failure: Failure): void;
}

/** An isolate's deployment, as host functions see it. */
export interface CallScope {
  /** Opaque objects that guest code refers to by number: keys, compressors. */
  readonly handles: HandleTable;
  /** Reserves memory before something is created for the worker. */
  readonly memory: HostMemory;
  /** @throws {PlatformError} `quota_exceeded`. */
  openStream(source: ByteSource): GuestStream;
  /** Whether this many more bytes may wait for the isolate on the host. */
  hasRoom(bytes: number): boolean;
  /** Connects a stream from the guest to a receiver. */
  receiveStream(id: number, sink: ByteSink): { drained(): void };
  /**
   * Opens the guest's socket with that id, to be attached to a wire. The socket is closed when the invocation `owner`
   * ends (0: not).
   *
   * @param ofCall whether the socket carries an RPC session, which outlives a restart of the service.
   * @param renews whether each message starts a new CPU budget; by default, unless it carries an RPC session.
   * @throws {PlatformError} `websocket_limit_exceeded`, `invalid_argument` for an id that is in use.
   */
  openSocket(id: number, owner: number, ofCall?: boolean, renews?: boolean): BridgedSocket;
  /**
   * The number of bytes that a socket received from the guest, and how many of them are pending; null for a closed
   * socket.
   */
  socketState(id: number): { readonly received: number; readonly buffered: number } | null;
  /** A text with its bundle positions mapped to the sources; null without a source map. */
  mapStack(text: string): string | null;
}

/** Counts the calls of a resource. */
export interface CallMeter {
  /** Called when a call has ended. @param reply the reply; null if the call failed. */
  ended(ms: number, reply: HostReply | null): void;
}

/** One call. */
export interface HostCall {
  readonly args: unknown;
  readonly parts: readonly Part[];
  readonly isolate: CallScope;
  readonly owner: CallOwner;
  /** Span of the call; absent or null if it is not sampled. */
  readonly span?: CallSpan | null;
  /** Set by calls of resources whose duration is measured. */
  meter?: CallMeter | null;
  /** Aborted when the reply is no longer needed, because the guest dropped the call or its isolate was disposed. */
  readonly signal: AbortSignal;
  /** Whether the signal has fired, without the cost of creating the signal. */
  readonly isDropped: boolean;
  /** Called when the reply is not needed: fires the signal. */
  drop(): void;
}

export type HostFunction = (call: HostCall) => HostReply | Promise<HostReply>;
/** A synchronous host function, which runs while a thread of the guest waits, so it must be fast. */
export type SyncHostFunction = (args: unknown, part: Part | undefined, isolate: CallScope) => unknown;

/** The host functions by name. */
export interface HostFunctions {
  readonly async: Readonly<Record<string, HostFunction>>;
  readonly sync: Readonly<Record<string, SyncHostFunction>>;
  /** Calls for which a thread of the guest may wait; they do their work outside the main thread. */
  readonly waiting: Readonly<Record<string, HostFunction>>;
  /** Decides when asynchronous calls begin. */
  readonly mainThread: MainThreadBudget;
}

// Error names that host functions may pass to the guest; any other error becomes an internal error without details.
const GUEST_NAMES = new Set([
  'TypeError',
  'RangeError',
  'SyntaxError',
  'DataError',
  'OperationError',
  'NotSupportedError',
  'InvalidAccessError',
  'QuotaExceededError',
  'AbortError',
  'TimeoutError',
  'EncodingError',
  'InvalidStateError',
  'SyntaxError',
]);

/**
 * An error as the guest sees it: known codes and standard names keep their message, all other errors become `internal`.
 */
export function toFailure(error: unknown): Failure {
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  if (isErrorCode(code)) return { code, name: guestName(code), message: String(message) };
  if (typeof name === 'string' && GUEST_NAMES.has(name)) return { code: name, name, message: String(message) };
  return { code: 'internal', name: 'Error', message: errorTable.internal.message };
}

// `fetch` rejects with a TypeError, as the Fetch Standard requires.
function guestName(code: ErrorCode): string {
  return code === 'fetch_failed' || code === 'egress_forbidden' || code === 'invalid_argument' ? 'TypeError' : 'Error';
}

// The host's end of host calls: what a host function gets and gives, the tables of all of them, and the way an error
// takes back into the guest. Host functions live in runtime/engine/bindings; every argument they get is hostile.
import type { CallOwner } from './call-owner.ts';
import { isErrorCode, type ErrorCode, errorTable } from '#core/errors.ts';
import type { MainTurns } from '../work/main-turns.ts';
import type { HandleTable } from './handle-table.ts';
import type { HostMemory } from './host-memory.ts';
import type { Failure, Part } from './protocol.ts';
import type { BridgedSocket } from './sockets.ts';
import type { ByteSink, ByteSource } from './streams.ts';
import type { CallSpan } from '../telemetry/invocation-spans.ts';

/** What an asynchronous host function answers. */
export interface HostReply {
  readonly value?: unknown;
  readonly parts?: readonly Part[];
  /** The parts are nobody's any more: their memory may go over instead of a copy. */
  readonly transfer?: boolean;
}

/** A stream into the guest that a host function has opened. */
export interface GuestStream {
  readonly id: number;
  /**
   * False: the guest has enough until `source.resume()`. `transfer`: the chunk is nobody's any more, its memory may go
   * over instead of a copy.
   */
  write(chunk: Uint8Array, transfer?: boolean): boolean;
  end(): void;
  break(failure: Failure): void;
}

/** The deployment an isolate runs, as far as host functions may know it. */
export interface CallScope {
  /** Opaque objects that guest code names by number: keys, compressors. */
  readonly handles: HandleTable;
  /** Where what is made for the worker is reserved before. */
  readonly memory: HostMemory;
  /** @throws {PlatformError} `quota_exceeded`. */
  openStream(source: ByteSource): GuestStream;
  /** Whether so many bytes more may wait outside of the isolate for it to take them. */
  hasRoom(bytes: number): boolean;
  /** Directs the bytes of a stream from the guest. */
  receiveStream(id: number, sink: ByteSink): { drained(): void };
  /**
   * Opens the guest's socket of that id, to be attached to a wire; closed when the invocation `owner` is over (0: not).
   *
   * @throws {PlatformError} `websocket_limit_exceeded`, `invalid_argument` for an id that is in use.
   */
  openSocket(id: number, owner: number): BridgedSocket;
  /** What a socket got from the guest, and what of it waits; null for a closed one. */
  socketState(id: number): { readonly received: number; readonly buffered: number } | null;
  /** A text whose places in the bundle are those of the sources; null where it has no source map. */
  mapStack(text: string): string | null;
}

/** One call. */
export interface HostCall {
  readonly args: unknown;
  readonly parts: readonly Part[];
  readonly isolate: CallScope;
  readonly owner: CallOwner;
  /** Of its trace; absent or null: it is not sampled. */
  readonly span?: CallSpan | null;
  /** Nobody waits any more: the guest dropped the call, or its isolate is gone. */
  readonly signal: AbortSignal;
  /** As the signal says, without the cost of one. */
  readonly isDropped: boolean;
}

export type HostFunction = (call: HostCall) => HostReply | Promise<HostReply>;
/** Synchronous: runs while a thread of the guest waits; must be quick. */
export type SyncHostFunction = (args: unknown, part: Part | undefined, isolate: CallScope) => unknown;

/** The host functions by name. */
export interface HostFunctions {
  readonly async: Readonly<Record<string, HostFunction>>;
  readonly sync: Readonly<Record<string, SyncHostFunction>>;
  /** Calls that a thread of the guest may wait for; each works off the main thread. */
  readonly waiting: Readonly<Record<string, HostFunction>>;
  /** When asynchronous calls begin. */
  readonly turns: MainTurns;
}

// Names that a host function's error may have in the guest; everything else is an internal error that says nothing.
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

/** An error as the guest may see it: known codes and standard names with their message, anything else as `internal`. */
export function toFailure(error: unknown): Failure {
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  if (isErrorCode(code)) return { code, name: guestName(code), message: String(message) };
  if (typeof name === 'string' && GUEST_NAMES.has(name)) return { code: name, name, message: String(message) };
  return { code: 'internal', name: 'Error', message: errorTable.internal.message };
}

// `fetch` rejects with a TypeError, as the Fetch Standard says.
function guestName(code: ErrorCode): string {
  return code === 'fetch_failed' || code === 'egress_forbidden' || code === 'invalid_argument' ? 'TypeError' : 'Error';
}

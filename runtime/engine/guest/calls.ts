// The guest's end of asynchronous host calls: numbers them, stores their promises, and settles them when the reply
// arrives.
import { FIELD, RECORD, toHost, type Failure, type HostCallName, type Part } from '../bridge/protocol.ts';
import { currentInvocation, type GuestInvocation } from './invocation.ts';
import type { HostReply } from './host.ts';
import { records, send } from './records.ts';
import { safeArray, toJson } from './safe.ts';

interface Waiter {
  resolve(reply: HostReply): void;
  reject(error: unknown): void;
  owner: GuestInvocation | undefined;
  /** Gets the reply before the entry reads the following records. */
  onReply: ((reply: HostReply, owner: GuestInvocation | undefined) => void) | undefined;
  /**
   * Whether the reply may reach a durable object that waits for its storage, because the call belongs to the storage.
   */
  passesGate: boolean;
}

// Slots with a free list are used, because a Map of per-request objects would keep dead objects alive until a full
// collection.
const waiters = safeArray<Waiter>();
const free = safeArray<number>();
let pending = 0;
/** The host has the same limit. */
const CALLS_MAX = 10_000;

function takeFree(): number | undefined {
  const id = free[free.length - 1];
  if (id !== undefined) free.length--;
  return id;
}

export function pendingCalls(): number {
  return pending;
}

/** Refuses an argument in the guest, with the error that the host would give. */
export function invalidArgument(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: 'invalid_argument' });
}

/**
 * The optional fields of a call; empty if the options are absent.
 *
 * @param what names the options in the error, such as `The options of put`. @throws {TypeError} `invalid_argument` if
 * the options are not an object.
 */
export function toOptions<Options extends object>(what: string, given: Options | null | undefined): Partial<Options> {
  if (given === undefined || given === null) return {};
  if (typeof given === 'object' && !Array.isArray(given)) return given;
  throw invalidArgument(`${what} must be an object, not ${Array.isArray(given) ? 'an array' : `a ${typeof given}`}`);
}

/** Makes a host call and returns only its value. */
export function callHost(name: HostCallName, args: unknown, parts?: readonly Part[]): Promise<HostReply> {
  return startCall(name, args, parts).reply;
}

/** Tells the host that a call is no longer needed. The host still replies, so that the number can be reused. */
export function dropCall(id: number): void {
  if (waiters[id] !== undefined) send(toHost.drop, id);
}

/** Sends a call with this entry's records. */
export function startCall(
  name: HostCallName,
  args: unknown,
  parts: readonly Part[] = [],
  onReply?: Waiter['onReply'],
): { id: number; reply: Promise<HostReply> } {
  // The guest refuses calls beyond the limit itself, as the host would, because hundreds of thousands of records in one
  // entry would block the host's main thread.
  if (pending >= CALLS_MAX) {
    const refused: Promise<HostReply> = Promise.reject(
      new TypeError(`More than ${CALLS_MAX} calls of one worker are in progress`),
    );
    return { id: -1, reply: refused };
  }
  const owner = currentInvocation();
  // The arguments are converted before a number is allocated, because a getter or a `toJSON` of the worker may throw,
  // or make another call.
  const json = toJson(args) ?? 'null';
  const { id, reply } = openCall(owner, onReply);
  let record =
    toHost.call + FIELD + id + FIELD + (owner === undefined ? 0 : owner.id) + FIELD + name + FIELD + json + FIELD;
  for (let at = 0; at < parts.length; at++) record += records.part(parts[at]!) + FIELD;
  records.meta += record + RECORD;
  return { id, reply };
}

/** Allocates the number of a call, whose record the caller sends. */
export function openCall(
  owner: GuestInvocation | undefined,
  onReply: Waiter['onReply'],
  passesGate = false,
): { id: number; reply: Promise<HostReply> } {
  const id = takeFree() ?? waiters.length;
  pending++;
  if (owner !== undefined) owner.work++;
  const reply = new Promise<HostReply>((resolve, reject) => {
    waiters[id] = { resolve, reject, owner, onReply, passesGate };
  });
  return { id, reply };
}

/** The gate that the reply to a call must pass, or null. */
export function gateOf(id: number): GuestInvocation['gate'] {
  const waiter = waiters[id];
  return waiter === undefined || waiter.passesGate || waiter.owner === undefined ? null : waiter.owner.gate;
}

function take(id: number): Waiter | undefined {
  const waiter = waiters[id];
  if (waiter === undefined) return undefined;
  waiters[id] = undefined;
  free[free.length] = id;
  pending--;
  if (waiter.owner !== undefined) waiter.owner.work--;
  return waiter;
}

/** Resolves a call; returns the invocation that made it. */
export function settleCall(id: number, value: unknown, parts: readonly Part[]): GuestInvocation | undefined {
  const waiter = take(id);
  if (waiter === undefined) return undefined;
  const reply = { value, parts };
  waiter.onReply?.(reply, waiter.owner);
  waiter.resolve(reply);
  return waiter.owner;
}

export function failCall(id: number, failure: Failure): GuestInvocation | undefined {
  const waiter = take(id);
  waiter?.reject(toError(failure));
  return waiter?.owner;
}

const constructors: Record<string, ErrorConstructor> = { Error, TypeError, RangeError, SyntaxError };

/** Creates an error of this realm for a failure from the bridge. */
export function toError(failure: Failure): Error & { code: string } {
  const constructor = constructors[failure.name] ?? Error;
  const error = new constructor(failure.message) as Error & { code: string };
  if (error.name !== failure.name)
    Object.defineProperty(error, 'name', { value: failure.name, configurable: true, writable: true });
  Object.defineProperty(error, 'code', { value: failure.code, configurable: true, writable: true });
  return error;
}

// What the host halves of node:crypto and node:zlib share: checked fields and parts, bounds that say what they are, and errors
// that reach the worker as Node words them.
import type { CallOwner, CallScope, HostHandler, HostReply } from '../bridge/host-calls.ts';

/** The arguments of one operation; every field is hostile. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #parts: readonly unknown[];
  readonly isolate: CallScope;
  readonly owner: CallOwner;

  constructor(values: unknown, parts: readonly unknown[], isolate: CallScope, owner: CallOwner) {
    if (typeof values !== 'object' || values === null) throw new TypeError('The arguments must be an object');
    this.#values = values as Record<string, unknown>;
    this.#parts = parts;
    this.isolate = isolate;
    this.owner = owner;
  }

  raw(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  text(name: string, among?: readonly string[]): string {
    const value = this.raw(name);
    if (typeof value !== 'string' || value.length > 100) throw new TypeError(`${name} must be a short string`);
    if (among !== undefined && !among.includes(value)) throw new TypeError(`${name} must be one of ${among.join(', ')}, not ${value}`);
    return value;
  }

  whole(name: string, least: number, most: number): number {
    const value = this.raw(name);
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new TypeError(`${name} must be a whole number`);
    if (value < least || value > most) throw tooMuch(name, value, `${least} to ${most}`);
    return value;
  }

  /** The field as a whole number, or undefined where it is missing. */
  optional(name: string, least: number, most: number): number | undefined {
    return this.raw(name) === undefined || this.raw(name) === null ? undefined : this.whole(name, least, most);
  }

  bytes(index: number): Uint8Array<ArrayBuffer> {
    const part = this.#parts[index];
    if (!(part instanceof Uint8Array)) throw new TypeError('Bytes are missing');
    return part as Uint8Array<ArrayBuffer>;
  }
}

/** An argument above what one call may cost. */
export function tooMuch(name: string, value: number, allowed: string): RangeError {
  return Object.assign(new RangeError(`${name} is ${value}, but a worker may use ${allowed}`), { code: 'ERR_OUT_OF_RANGE' });
}

/** One operation by the name the guest asks for. */
export type Operation = (fields: Fields) => HostReply | Promise<HostReply>;

/** A host call that is a choice of operations. What they throw is told in the reply, in the words and with the code of Node. */
export function operationsCall(operations: Readonly<Record<string, Operation>>): HostHandler {
  return async ({ args, parts, isolate, owner }) => {
    try {
      const fields = new Fields(args, parts, isolate, owner);
      const operation = fields.raw('op');
      if (typeof operation !== 'string' || !Object.hasOwn(operations, operation)) throw new TypeError('The operation is unknown');
      return await operations[operation]!(fields);
    } catch (error) {
      const { name, message, code } = error as { name?: unknown; message?: unknown; code?: unknown };
      return { value: { error: { name: String(name), message: String(message), ...(typeof code === 'string' ? { code } : {}) } } };
    }
  };
}

/** Reserves what an operation takes beside its arguments, until it is over. @throws {PlatformError} `host_memory_exceeded`. */
export async function holding(fields: Fields, bytes: number, what: string, run: () => Promise<HostReply>): Promise<HostReply> {
  const hold = fields.isolate.memory.hold(bytes, what);
  try {
    return await run();
  } finally {
    hold.release();
  }
}

/**
 * Runs work of the thread pool and says what it cost: the time that passed, since a call has a thread of its own, but no more
 * than the estimate, since a busy machine must not charge a worker for its neighbours.
 */
export async function costing(estimateMs: number, run: () => Promise<HostReply>): Promise<HostReply> {
  const start = performance.now();
  const reply = await run();
  return { ...reply, cpuMs: Math.min(performance.now() - start, estimateMs) };
}

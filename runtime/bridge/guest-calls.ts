// The host calls of one isolate: finds the handler, begins a bounded number in a turn, and hands on what it answers. Used by link.ts,
// which writes the answers; knows nothing of records or streams.
import { PlatformError } from '#core/errors.ts';
import { toFailure, type CallOwner, type CallScope, type HostCall, type HostHandlers, type HostReply } from './host-calls.ts';
import type { Failure, Part } from './protocol.ts';

/** What the calls of an isolate need. */
export interface GuestCallsParts {
  readonly handlers: HostHandlers;
  /** How many may be under way. */ readonly callsMax: number;
  readonly isolate: CallScope;
  readonly answered: (id: number, reply: HostReply) => void;
  readonly failed: (id: number, failure: Failure) => void;
}

/** What a waiting guest gets: copied as a whole, or why it gets nothing. */
export type WaitingReply =
  | { readonly value: unknown; readonly parts: readonly Uint8Array[]; readonly cpuMs: number }
  | { readonly failure: Failure };

/** Who is charged where no invocation is. */
export const nobody: CallOwner = {
  id: 0,
  atEnd: (run) => run(),
  host: () => null,
  trace: null,
  countSubrequest() {
    throw new PlatformError('invocation_ended', { what: 'fetch' });
  },
};

/** What a call takes beside its arguments. */
const CALL_BYTES = 1024;
/** Calls of one worker that begin in a turn. */
const CALLS_A_TURN = 64;

/** A call under way. Few handlers look at its signal, and one costs more than many a call: it is made when it is asked for. */
class Call implements HostCall {
  readonly args: unknown;
  readonly parts: readonly Part[];
  readonly isolate: CallScope;
  readonly owner: CallOwner;
  #controller: AbortController | null = null;
  #isDropped = false;

  constructor(args: unknown, parts: readonly Part[], isolate: CallScope, owner: CallOwner) {
    this.args = args;
    this.parts = parts;
    this.isolate = isolate;
    this.owner = owner;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isDropped) this.#controller.abort();
    return this.#controller.signal;
  }

  get isDropped(): boolean {
    return this.#isDropped;
  }

  drop(): void {
    this.#isDropped = true;
    this.#controller?.abort();
  }
}

export class GuestCalls {
  #parts: GuestCallsParts;
  #underWay = new Map<number, Call>();
  #begunInTurn = 0;
  /** Those that wait for a turn. */
  #later: (() => void)[] = [];
  #gone = new AbortController();

  constructor(parts: GuestCallsParts) {
    this.#parts = parts;
  }

  /** An entry's calls follow. */
  beginTurn(): void {
    this.#begunInTurn = 0;
  }

  /** Begins a call; `answered` or `failed` tells what came of it. */
  async begin(id: number, owner: CallOwner, name: string, args: unknown, parts: readonly Part[], argsBytes = 0): Promise<void> {
    const { handlers, callsMax, isolate } = this.#parts;
    const call = new Call(args, parts, isolate, owner);
    const bytes = callBytes(argsBytes, parts);
    let reserved = 0;
    let reply: HostReply;
    try {
      const handler = own(handlers.async, name);
      if (this.#underWay.size >= callsMax)
        throw new PlatformError('invalid_argument', { reason: `More than ${callsMax} calls of one worker are under way` });
      isolate.memory.reserve(bytes, 'A call to the host');
      reserved = bytes;
      this.#underWay.set(id, call);
      if (this.#later.length > 0 || ++this.#begunInTurn > CALLS_A_TURN) {
        await new Promise<void>((resolve) => this.#waitForTurn(resolve));
        if (call.isDropped) call.signal.throwIfAborted();
      }
      const answer = handler(call);
      reply = answer instanceof Promise ? await answer : answer;
    } catch (error) {
      this.#underWay.delete(id);
      isolate.memory.release(reserved);
      this.#parts.failed(id, toFailure(error));
      return;
    }
    this.#underWay.delete(id);
    isolate.memory.release(reserved);
    this.#parts.answered(id, reply);
  }

  /** Nobody waits for its answer any more. */
  drop(id: number): void {
    this.#underWay.get(id)?.drop();
  }

  /** A synchronous call. */
  sync(name: string, args: string, part: Part | undefined): unknown {
    const { handlers, isolate } = this.#parts;
    if (handlers.sync[name] === undefined || !Object.hasOwn(handlers.sync, name)) throw new TypeError(`Host call ${name} is not supported`);
    return handlers.sync[name](JSON.parse(args), part, isolate);
  }

  /** A call that a thread of the guest waits for. Never rejects: what failed is told in the answer. */
  async waiting(name: string, args: string, parts: readonly Part[]): Promise<WaitingReply> {
    const { handlers, isolate } = this.#parts;
    const bytes = callBytes(args.length, parts);
    let reserved = 0;
    try {
      const handler = own(handlers.waiting, name);
      isolate.memory.reserve(bytes, 'A call to the host');
      reserved = bytes;
      if (!parts.every((part) => part instanceof Uint8Array)) throw new TypeError('The parts must be bytes');
      const reply = await handler({ args: JSON.parse(args) as unknown, parts, isolate, owner: nobody, signal: this.#gone.signal });
      return { value: reply.value ?? null, parts: (reply.parts ?? []) as readonly Uint8Array[], cpuMs: reply.cpuMs ?? 0 };
    } catch (error) {
      return { failure: toFailure(error) };
    } finally {
      isolate.memory.release(reserved);
    }
  }

  /** The isolate is gone. */
  close(): void {
    this.#gone.abort();
    for (const call of this.#underWay.values()) call.drop();
    this.#underWay.clear();
    // Nobody waits for those that have not begun.
    this.#later.length = 0;
  }

  /** Calls beyond what one turn of the event loop begins go on in the next ones, in their order: some of them take time here. */
  #waitForTurn(begin: () => void): void {
    this.#later.push(begin);
    if (this.#later.length === 1) setImmediate(this.#beginLater);
  }

  #beginLater = (): void => {
    for (const begin of this.#later.splice(0, CALLS_A_TURN)) begin();
    if (this.#later.length > 0) setImmediate(this.#beginLater);
  };
}

/** What the arguments of a call take while it is under way. */
function callBytes(args: number, parts: readonly Part[]): number {
  let bytes = CALL_BYTES + 2 * args;
  for (const part of parts) bytes += part.length;
  return bytes;
}

/** @throws {PlatformError} `not_supported`. */
function own<Handler>(table: Readonly<Record<string, Handler>>, name: string): Handler {
  const handler = table[name];
  if (handler === undefined || !Object.hasOwn(table, name)) throw new PlatformError('not_supported', { what: `Host call ${name}` });
  return handler;
}

// The host calls of one isolate: finds the host function, starts a limited number per tick, and returns the result.
// Used by link.ts, which writes the replies; independent of records and streams.
import { PlatformError } from '#core/errors.ts';
import { isWhole } from '#core/free-buffers.ts';
import {
  toFailure,
  type CallMeter,
  type CallScope,
  type HostCall,
  type HostFunction,
  type HostFunctions,
  type HostReply,
} from './host-calls.ts';
import type { CallOwner } from './call-owner.ts';
import type { CallSpan } from '../tracing/invocation-spans.ts';
import type { Failure, Part } from './protocol.ts';

/** Dependencies of the calls of an isolate. */
interface GuestCallsDeps {
  readonly hostFunctions: HostFunctions;
  /** Maximum number of concurrent calls. */
  readonly callsMax: number;
  readonly isolate: CallScope;
  readonly answered: (id: number, reply: HostReply) => void;
  readonly failed: (id: number, failure: Failure) => void;
  /** Called when the last deferred call has begun. */
  readonly allBegun: () => void;
}

/**
 * The reply to a waiting guest, which is copied as a whole, or the failure. Also contains the CPU of the call, which
 * the guest adds to its own.
 */
type WaitingReply =
  | { readonly value: unknown; readonly parts: readonly Uint8Array[]; readonly cpuMs: number }
  | { readonly failure: Failure; readonly cpuMs: number };

/** Owner of a call that a thread waits for: the guest charges itself; this only records the cost. */
class WaitingOwner implements CallOwner {
  cpuMs = 0;
  #of: CallOwner;

  constructor(of: CallOwner) {
    this.#of = of;
  }

  get id(): number {
    return this.#of.id;
  }

  get trace(): CallOwner['trace'] {
    return this.#of.trace;
  }

  host(): string | null {
    return this.#of.host();
  }

  header(name: string): string | null {
    return this.#of.header(name);
  }

  run(): ReturnType<CallOwner['run']> {
    return this.#of.run();
  }

  countSubrequest(): void {
    this.#of.countSubrequest();
  }

  get isOver(): boolean {
    return this.#of.isOver;
  }

  get cpuLeftMs(): number {
    return this.#of.cpuLeftMs;
  }

  reserveCpu(cpuMs: number): void {
    if (cpuMs <= this.cpuLeftMs - this.cpuMs) return;
    // The call cost more than the remaining budget. If the code of the invocation continues, the watch terminates it.
    this.cpuMs += cpuMs;
    this.#of.reserveCpu(this.cpuMs);
    throw new PlatformError('cpu_limit_exceeded');
  }

  settleCpu(_reservedMs: number, usedMs: number): void {
    this.cpuMs += usedMs;
  }

  atExit(run: () => void): void {
    this.#of.atExit(run);
  }
}

/** Memory of a call besides its arguments. */
const CALL_BYTES = 1024;
/** Maximum number of calls of one worker that begin per tick. */
const CALLS_A_TURN = 64;
/** Maximum size of the arguments as JSON; bytes and texts are separate. */
const ARGS_CHARS_MAX = 4 * 1024 * 1024;
/**
 * Maximum charge for the start of a call, per call and per character, so that a tenant is not charged for its neighbors
 * on a busy machine.
 */
const BEGIN_MS_MAX = 0.1;
const CHAR_MS_MAX = 1 / 15_000;

/** The error is created only once, because each new error captures a stack. */
const DROPPED = new DOMException('The reply is no longer needed', 'AbortError');

/** A pending call. Few host functions use its signal, which costs more than many calls, so it is created on demand. */
class Call implements HostCall {
  args: unknown = null;
  readonly parts: readonly Part[];
  readonly isolate: CallScope;
  readonly owner: CallOwner;
  span: CallSpan | null = null;
  meter: CallMeter | null = null;
  /** `performance.now()`. */
  began = 0;
  #controller: AbortController | null = null;
  #isDropped = false;

  constructor(parts: readonly Part[], isolate: CallScope, owner: CallOwner) {
    this.parts = parts;
    this.isolate = isolate;
    this.owner = owner;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isDropped) this.#controller.abort(DROPPED);
    return this.#controller.signal;
  }

  get isDropped(): boolean {
    return this.#isDropped;
  }

  drop(): void {
    this.#isDropped = true;
    this.#controller?.abort(DROPPED);
  }
}

export class GuestCalls {
  #deps: GuestCallsDeps;
  #underWay = new Map<number, Call>();
  #begunInTurn = 0;
  #deferred = 0;
  #gone = new AbortController();

  constructor(deps: GuestCallsDeps) {
    this.#deps = deps;
  }

  /** Called before the calls of an entry. */
  beginTurn(): void {
    this.#begunInTurn = 0;
  }

  /** Starts a call, now or later in its turn; `answered` or `failed` receives the result. @param args as JSON. */
  begin(id: number, owner: CallOwner, name: string, args: string, parts: readonly Part[]): void {
    const { hostFunctions, callsMax, isolate } = this.#deps;
    const call = new Call(parts, isolate, owner);
    const bytes = callBytes(args.length, parts);
    let hostFunction: HostFunction;
    try {
      hostFunction = own(hostFunctions.async, name);
      if (this.#underWay.size >= callsMax)
        throw new PlatformError('invalid_argument', {
          reason: `More than ${callsMax} calls of one worker are in progress`,
        });
      if (args.length > ARGS_CHARS_MAX)
        throw new PlatformError('invalid_argument', {
          reason: `The arguments of a call must be at most ${ARGS_CHARS_MAX} characters of JSON`,
        });
      isolate.memory.reserve(bytes, 'A call to the host');
    } catch (error) {
      this.#deps.failed(id, toFailure(error));
      return;
    }
    this.#underWay.set(id, call);
    if (hostFunctions.mainThread.mayBegin(isolate.memory.whole) && ++this.#begunInTurn <= CALLS_A_TURN)
      this.#run(id, name, call, hostFunction, args, bytes);
    else {
      this.#deferred++;
      hostFunctions.mainThread.defer(isolate.memory.whole, () => {
        this.#run(id, name, call, hostFunction, args, bytes);
        if (--this.#deferred === 0) this.#deps.allBegun();
      });
    }
  }

  /** Whether calls are deferred, so that their streams may arrive before they start. */
  get hasDeferred(): boolean {
    return this.#deferred > 0;
  }

  #run(id: number, name: string, call: Call, hostFunction: HostFunction, args: string, bytes: number): void {
    const began = (call.began = performance.now());
    let answer: HostReply | Promise<HostReply>;
    try {
      if (call.isDropped) call.signal.throwIfAborted();
      call.args = JSON.parse(args) as unknown;
      if (call.owner.spans) call.span = call.owner.spans.begin(name, call.args);
      answer = hostFunction(call);
    } catch (error) {
      this.#failed(id, call, bytes, error);
      return;
    } finally {
      const ms = performance.now() - began;
      this.#deps.hostFunctions.mainThread.used(ms);
      call.owner.settleCpu(0, Math.min(ms, BEGIN_MS_MAX + args.length * CHAR_MS_MAX));
    }
    if (answer instanceof Promise)
      answer.then(
        (reply) => this.#answered(id, call, bytes, reply),
        (error: unknown) => this.#failed(id, call, bytes, error),
      );
    else this.#answered(id, call, bytes, answer);
  }

  #answered(id: number, call: Call, bytes: number, reply: HostReply): void {
    this.#over(id, call, bytes);
    if (call.span !== null) call.owner.spans?.finish(call.span, null);
    if (call.meter !== null) call.meter.ended(performance.now() - call.began, reply);
    this.#deps.answered(id, reply);
  }

  #failed(id: number, call: Call, bytes: number, error: unknown): void {
    this.#over(id, call, bytes);
    const failure = toFailure(error);
    if (call.meter !== null) call.meter.ended(performance.now() - call.began, null);
    if (call.span !== null) call.owner.spans?.finish(call.span, `${failure.code}: ${failure.message}`);
    this.#deps.failed(id, failure);
  }

  #over(id: number, { isolate }: Call, bytes: number): void {
    this.#underWay.delete(id);
    isolate.memory.release(bytes);
  }

  /** Called when the guest no longer needs the reply. */
  drop(id: number): void {
    this.#underWay.get(id)?.drop();
  }

  /** A synchronous call. */
  sync(name: string, args: string, part: Part | undefined): unknown {
    const { hostFunctions, isolate } = this.#deps;
    if (hostFunctions.sync[name] === undefined || !Object.hasOwn(hostFunctions.sync, name))
      throw new TypeError(`Host call ${name} is not supported`);
    return hostFunctions.sync[name](JSON.parse(args), part, isolate);
  }

  /** Runs a call for which a thread of the guest waits. Never rejects, because the reply contains failures. */
  async waiting(of: CallOwner, name: string, args: string, parts: readonly Part[]): Promise<WaitingReply> {
    const { hostFunctions, isolate } = this.#deps;
    const bytes = callBytes(args.length, parts);
    let reserved = 0;
    const owner = new WaitingOwner(of);
    try {
      const hostFunction = own(hostFunctions.waiting, name);
      isolate.memory.reserve(bytes, 'A call to the host');
      reserved = bytes;
      if (!parts.every((part) => part instanceof Uint8Array)) throw new TypeError('The parts must be bytes');
      const { signal } = this.#gone;
      const call = {
        args: JSON.parse(args) as unknown,
        parts,
        isolate,
        owner,
        signal,
        get isDropped() {
          return signal.aborted;
        },
        // The thread waits for the reply.
        drop() {},
      };
      const reply = await hostFunction(call);
      return {
        value: reply.value ?? null,
        parts: ((reply.parts ?? []) as readonly Uint8Array[]).map(alone),
        cpuMs: owner.cpuMs,
      };
    } catch (error) {
      return { failure: toFailure(error), cpuMs: owner.cpuMs };
    } finally {
      isolate.memory.release(reserved);
    }
  }

  /** Called when the isolate was disposed. */
  close(): void {
    this.#gone.abort();
    for (const call of this.#underWay.values()) call.drop();
    this.#underWay.clear();
  }
}

/**
 * Copies a view of a part of a buffer, such as of Node's pool of small buffers, because views cross with their whole
 * buffer.
 */
function alone(part: Uint8Array): Uint8Array {
  return isWhole(part) ? part : new Uint8Array(part);
}

/** Memory of a call's arguments while the call is pending. */
function callBytes(args: number, parts: readonly Part[]): number {
  let bytes = CALL_BYTES + 2 * args;
  for (const part of parts) bytes += part.length;
  return bytes;
}

/** @throws {PlatformError} `not_supported`. */
function own<Handler>(table: Readonly<Record<string, Handler>>, name: string): Handler {
  const hostFunction = table[name];
  if (hostFunction === undefined || !Object.hasOwn(table, name))
    throw new PlatformError('not_supported', { what: `Host call ${name}` });
  return hostFunction;
}

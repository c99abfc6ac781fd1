// One RPC session: two sides that call each other's objects over a transport. The opening side calls the main object of
// the other side. All other objects that a side can reach were passed to it in a message. A session ends when the
// opening side no longer needs it, or with the invocation of either side.
import type { Part } from '../../../bridge/protocol.ts';
import { currentContext, runInContext, type Context } from '../../context.ts';
import { currentInvocation, touch, type GuestInvocation } from '../../invocation.ts';
import type { SessionMain } from '../../session-main.ts';
import { fromFrame, toFrame } from './frames.ts';
import { disposeAll, isPromise } from './local.ts';
import { PassedObjects } from './passed-objects.ts';
import { Question } from './remote.ts';
import { memberOf, missing, type Receiver, type Result } from './stubs.ts';
import type { RpcTransport } from './transport.ts';
import { ValueReader, ValueWriter } from './values.ts';

/** Messages: `[kind, ...]`. Calls are numbered by the side that sends them, and objects by the side that has them. */
const CALL = 0; // question, target, path, arguments; a negative target: the result of an earlier question
const GET = 1; // question, target, path
const RETURN = 2; // question, value
const THROW = 3; // question, error
const RELEASE = 4; // object, how many of its references
const FINISH = 5; // question: its result is not called any more
const LEAVE = 6; // of the host: ends the session as soon as no call runs
// Like RETURN and THROW, but the session ends, because neither side holds references.
const RETURN_LAST = 7;
const THROW_LAST = 8;

/** Number of the main object. */
const MAIN = 0;
/** Maximum size of a message. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum number of unanswered calls of one session, in either direction. */
const PENDING_MAX = 10_000;

const CLOSED = 'The RPC session was closed by the other side';
const DISPOSED = 'RPC stub used after being disposed.';

function toError(reason: Error | string): Error {
  return typeof reason === 'string' ? new Error(reason) : reason;
}

/** How errors reach the caller. */
export interface SessionErrors {
  /** Converts an error that the code of the other side threw. */
  thrown(error: unknown): void;
  /**
   * Called with the reason why the session failed; null if it was closed normally. @returns the error for pending
   * calls.
   */
  failed(error: Error | null): Error;
}

/** A session. */
export class RpcSession {
  #transport: RpcTransport;
  #opens: boolean;
  #context: Context | undefined = currentContext();
  #invocation: GuestInvocation | undefined = currentInvocation();
  #main: SessionMain | null;
  #errors: SessionErrors | null;
  #mainObject: { readonly value: unknown } | null = null;
  readonly #passed = new PassedObjects(this);
  #questions = new Map<number, Question>();
  /** Results of the other side's calls, to which its later calls can refer before they arrive. */
  #answers = new Map<number, Promise<unknown>>();
  #running = 0;
  #isLeaving = false;
  #lastQuestion = 0;
  /** The reason why the session has ended, as an error or a message; null while it is open. */
  #ended: Error | string | null = null;

  /**
   * @param main the object that the other side calls; null means that this side opens the session and calls the other
   * side's object.
   * @param errors changes errors before the caller sees them; null if unchanged.
   */
  constructor(transport: RpcTransport, main: SessionMain | null, errors: SessionErrors | null = null) {
    this.#transport = transport;
    this.#errors = errors;
    this.#opens = main === null;
    this.#main = main;
    const onFrame = (frame: Part): void => runInContext(this.#context, () => this.#read(frame));
    const onClosed = (error: Error | null): void => {
      if (this.#ended === null)
        runInContext(this.#context, () => this.#end(this.#errors?.failed(error) ?? error ?? CLOSED));
    };
    transport.onFrame = onFrame;
    transport.onClosed = onClosed;
  }

  /** The main object of the other side, for this session's only user. */
  readonly main: Receiver = { send: (path, args) => this.ask(MAIN, path, args) };

  /** Reads a frame that came with the request to open the session. */
  receive(frame: Part): void {
    this.#read(frame);
  }

  /**
   * Sends a call, or if `args` is null, reads a property.
   *
   * @param target number of the object; negative for the result of `from`.
   */
  ask(target: number, path: readonly string[], args: readonly unknown[] | null, from: Question | null = null): Result {
    const id = ++this.#lastQuestion;
    const question = new Question(this, id, from === null ? null : { from, path, args });
    if (this.#ended !== null) {
      question.goOn(toError(this.#ended));
      return question;
    }
    try {
      if (this.#questions.size >= PENDING_MAX)
        throw new Error(`More than ${PENDING_MAX} calls of one RPC session are pending`);
      if (args === null) this.#send([GET, id, target, path], null);
      else this.#send([CALL, id, target, path], args);
      this.#questions.set(id, question);
    } catch (error) {
      question.reject(error);
      this.settle();
    }
    return question;
  }

  /** @throws {DOMException} DataCloneError; {Error} for a message that is too large. */
  #send(head: readonly unknown[], value: unknown, isResult = false): void {
    const writer = new ValueWriter(this.#passed, isResult);
    const before = this.#passed.last;
    try {
      const written = head[0] === RELEASE || head[0] === FINISH || head[0] === GET ? undefined : writer.write(value);
      const isLast = (head[0] === RETURN || head[0] === THROW) && this.#isAnsweredWhole;
      const sent = isLast ? [head[0] === RETURN ? RETURN_LAST : THROW_LAST, head[1]] : head;
      const frame = toFrame(written === undefined ? sent : [...sent, written], writer.parts);
      if (frame.length > MESSAGE_BYTES_MAX)
        throw new Error(
          'Serialized RPC arguments or return values are limited to 32MiB, ' +
            `but the size of this value was: ${frame.length} bytes.`,
        );
      this.#transport.send(frame);
      this.#passed.sent();
      if (isLast) this.#close();
    } catch (error) {
      this.#passed.unsent(before);
      throw error;
    }
  }

  #read(frame: Part): void {
    if (this.#ended !== null) return;
    try {
      const { message, parts } = fromFrame(frame);
      this.#readMessage(message, parts);
    } catch (error) {
      this.#end(error as Error);
      this.#transport.close();
    }
  }

  #readMessage(message: readonly unknown[], parts: readonly Uint8Array[]): void {
    const [kind, id, ...rest] = message as readonly [number, number, ...unknown[]];
    switch (kind) {
      case CALL:
      case GET: {
        const [target, path, args] = rest as [number, readonly string[], unknown];
        this.#answer(id, target, path, kind === GET ? null : args, parts);
        return;
      }
      case RETURN:
      case THROW:
      case RETURN_LAST:
      case THROW_LAST: {
        const question = this.#questions.get(id);
        if (question === undefined) return;
        const { value, stubs } = this.#decode(rest[0], parts);
        this.#questions.delete(id);
        const isThrown = kind === THROW || kind === THROW_LAST;
        if (isThrown) this.#errors?.thrown(value);
        this.#arrive(() => (isThrown ? question.reject(value) : question.resolve(value, stubs)));
        if (kind === RETURN_LAST || kind === THROW_LAST) this.#endAnswered();
        else this.settle();
        if (this.#ended === null) this.#send([FINISH, id], undefined);
        return;
      }
      case RELEASE:
        this.#passed.release(id, rest[0] as number);
        this.settle();
        return;
      case FINISH:
        this.#answers.delete(id);
        this.settle();
        return;
      case LEAVE:
        this.#isLeaving = true;
        this.settle();
        return;
      default:
        throw new Error('An RPC message is of an unknown kind');
    }
  }

  #decode(written: unknown, parts: readonly Uint8Array[]): { value: unknown; stubs: object[] } {
    return this.#passed.collect(() => new ValueReader(this.#passed, parts).read(written));
  }

  /** Handles a call of the other side. */
  #answer(id: number, target: number, path: readonly string[], written: unknown, parts: readonly Uint8Array[]): void {
    if (this.#answers.size >= PENDING_MAX)
      throw new Error(`More than ${PENDING_MAX} calls of one RPC session are pending`);
    let stubs: object[] = [];
    let result: Promise<unknown>;
    this.#running++;
    try {
      let args: readonly unknown[] | null = null;
      if (written !== null) {
        const decoded = this.#decode(written, parts);
        args = decoded.value as readonly unknown[];
        ({ stubs } = decoded);
      }
      const earlier = target < 0 ? this.#answers.get(-target) : undefined;
      // The object is looked up now, because the other side may release it before the call enters. The main object is
      // created when the call enters.
      const found = earlier === undefined && target !== MAIN ? this.#objectOf(target) : null;
      result =
        earlier === undefined
          ? this.#enter(() => this.#reach(found ?? this.#objectOf(MAIN), target === MAIN, path, args))
          : earlier.then((value) => this.#enter(() => this.#reach(value, false, path, args)));
    } catch (error) {
      result = Promise.reject(error as Error);
    }
    this.#answers.set(id, result);
    result.then(
      (value) => this.#returned(id, value, stubs),
      (error: unknown) => this.#threw(id, error, stubs),
    );
  }

  /** Runs a call of the other side, which is an event of the durable object that the session belongs to. */
  #enter(call: () => unknown): Promise<unknown> {
    if (this.#main?.run !== undefined) return this.#main.run(call);
    const gate = this.#invocation?.gate ?? null;
    if (gate === null) return Promise.resolve(call());
    return new Promise((resolve, reject) => {
      gate.enter(() => {
        try {
          resolve(call());
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  /** Passes a reply to the caller; the reply waits while the calling durable object waits for its storage. */
  #arrive(settle: () => void): void {
    const invocation = this.#invocation;
    if (invocation?.gate?.isClosed !== true) {
      settle();
      return;
    }
    invocation.gate.later(() => {
      touch(invocation);
      settle();
    });
  }

  #objectOf(target: number): unknown {
    if (target === MAIN && this.#main !== null) return (this.#mainObject ??= { value: this.#main.object() }).value;
    return this.#passed.own(target);
  }

  /** Follows a path from an object and calls the member at its end. */
  #reach(from: unknown, isMain: boolean, path: readonly string[], args: readonly unknown[] | null): unknown {
    let self: unknown = undefined;
    let value = from;
    for (const [index, name] of path.entries()) {
      self = value;
      const isOfMain = isMain && index === 0;
      if (isOfMain && this.#main?.hides?.(name) === true) throw missing(name);
      value = memberOf(value, name, isOfMain);
      if (index < path.length - 1 && isPromise(value))
        return (value as Promise<unknown>).then((next) => this.#reach(next, false, path.slice(index + 1), args));
    }
    if (args === null) return value;
    if (typeof value !== 'function') throw new TypeError(`"${path.at(-1) ?? ''}" is not a function.`);
    const name = path[0];
    const given = isMain && path.length === 1 && this.#main?.adapt !== undefined ? this.#main.adapt(name!, args) : args;
    return Reflect.apply(value as (...of: unknown[]) => unknown, self, given as unknown[]) as unknown;
  }

  #returned(id: number, value: unknown, stubs: readonly object[]): void {
    this.#running--;
    if (this.#ended === null) {
      try {
        this.#send([RETURN, id], value, true);
      } catch (error) {
        this.#sendError(id, error);
      }
    }
    disposeAll(stubs);
    this.settle();
  }

  #threw(id: number, error: unknown, stubs: readonly object[]): void {
    this.#running--;
    if (this.#ended === null) this.#sendError(id, error);
    disposeAll(stubs);
    this.settle();
  }

  #sendError(id: number, error: unknown): void {
    try {
      this.#send([THROW, id], typeof error === 'object' && error !== null ? error : new Error(String(error)));
    } catch {
      const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
      const plain = new Error(`${typeof message === 'string' ? message.slice(0, 1000) : 'The error cannot be sent'}`);
      if (typeof name === 'string') plain.name = name.slice(0, 100);
      this.#send([THROW, id], plain);
    }
  }

  /**
   * Whether this response is the last one that the other side needs. Most sessions are one message in each direction.
   */
  get #isAnsweredWhole(): boolean {
    const isOnly = this.#running === 0 && this.#answers.size === 1;
    return !this.#opens && isOnly && this.#passed.isEmpty && !this.#passed.hasStreams;
  }

  /**
   * Called when the other side has sent its response and ended. Its unread calls continue with the result, which is on
   * this side.
   */
  #endAnswered(): void {
    const left = Array.from(this.#questions.values());
    this.#questions.clear();
    this.#end(CLOSED);
    for (const question of left) question.goOn(toError(CLOSED));
  }

  /** Returns references to an object to the other side. */
  release(id: number, references: number): void {
    if (this.#ended === null) this.#send([RELEASE, id, references], undefined);
  }

  /** Closes the session when the opening side no longer needs it, or when the other side must end. */
  settle(): void {
    if (!(this.#opens || this.#isLeaving) || this.#ended !== null || this.#running > 0) return;
    if (this.#questions.size > 0 || this.#passed.hasStreams) return;
    if (!this.#isLeaving && !this.#passed.isEmpty) return;
    this.#close();
  }

  #close(): void {
    this.#end(DISPOSED);
    this.#transport.close();
  }

  /** @param reason a message, because an error with its stack is only created if a call is waiting. */
  #end(reason: Error | string): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    for (const question of Array.from(this.#questions.values())) question.reject(toError(reason));
    this.#questions.clear();
    this.#answers.clear();
    this.#passed.clear();
  }
}

// References of one side of an RPC session to the other side: handles of its objects, and pending calls.
import { disposeAll, disposerOf, follow, local } from './local.ts';
import { innerOf, type Receiver, type Result } from './stubs.ts';

/** The session of these objects. */
export interface Asking {
  /**
   * Sends a call, or if `args` is null, reads a property. @param target number of the object; negative for the result
   * of `from`.
   */
  ask(target: number, path: readonly string[], args: readonly unknown[] | null, from?: Question): Result;
  /** Creates another handle of an object of the other side. */
  duplicate(id: number): Handle;
  /** Called when a handle is disposed. */
  forget(id: number): void;
}

/** A reference to an object of the other side. */
export class Handle implements Receiver {
  readonly id: number;
  #session: Asking;
  #isDisposed = false;

  constructor(session: Asking, id: number) {
    this.#session = session;
    this.id = id;
  }

  isOf(session: Asking): boolean {
    this.#check();
    return this.#session === session;
  }

  send(path: readonly string[], args: readonly unknown[] | null): Result {
    this.#check();
    return this.#session.ask(this.id, path, args);
  }

  dup(): Receiver {
    this.#check();
    return this.#session.duplicate(this.id);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#session.forget(this.id);
  }

  #check(): void {
    if (this.#isDisposed) throw new Error('RPC stub used after being disposed.');
  }
}

/** A call on the result of an earlier call. */
interface Origin {
  readonly from: Question;
  readonly path: readonly string[];
  readonly args: readonly unknown[] | null;
}

/** A call that was sent, and its result. */
export class Question implements Result, Receiver {
  readonly promise: Promise<unknown>;
  readonly receiver: Receiver = this;
  #session: Pick<Asking, 'ask'>;
  #id: number;
  #origin: Origin | null;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;
  #settled: { readonly value: unknown } | null = null;
  #isDisposed = false;

  /** @param origin the call whose result is used; null if the target is an object. */
  constructor(session: Pick<Asking, 'ask'>, id: number, origin: Origin | null) {
    this.#session = session;
    this.#id = id;
    this.#origin = origin;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(value: unknown, stubs: readonly object[]): void {
    this.#settled = { value };
    if (this.#isDisposed) disposeAll(stubs);
    else if (typeof value === 'object' && value !== null && !(Symbol.dispose in value))
      Object.defineProperty(value, Symbol.dispose, {
        value: () => disposeAll(stubs),
        writable: true,
        configurable: true,
        enumerable: false,
      });
    this.#resolve(value);
  }

  reject(error: unknown): void {
    this.#reject(error);
  }

  /**
   * Called when the other side has ended without answering the call. @param ended the error for a call that does not
   * refer to the result of an earlier call.
   */
  goOn(ended: Error): void {
    const origin = this.#origin;
    if (origin === null) {
      this.reject(ended);
      return;
    }
    const { from, path, args } = origin;
    from.promise
      .then((value) => follow(value, path, args))
      .then(
        (value) => this.resolve(value, []),
        (error: unknown) => this.reject(error),
      );
  }

  /** Until the result arrives, the other side evaluates calls on it; afterwards this side does. */
  send(path: readonly string[], args: readonly unknown[] | null): Result {
    if (this.#isDisposed) throw new Error('RPC stub used after being disposed.');
    if (this.#settled === null) return this.#session.ask(-this.#id, path, args, this);
    return local(() => follow(this.#settled!.value, path, args));
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    const value = this.#settled?.value;
    const inner = innerOf(value);
    if (inner !== null) inner.receiver.dispose?.();
    else if (typeof value === 'object' && value !== null) disposerOf(value)?.();
  }
}

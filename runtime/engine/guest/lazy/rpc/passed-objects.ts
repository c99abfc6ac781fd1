// The objects that the two sides of an RPC session have passed to each other by reference: this side's objects by
// number, and the reference counts of both sides. Used by session.ts.
import { DOMException } from '../../web/dom-exception.ts';
import { disposerOf, follow, local, quietly } from './local.ts';
import { Handle, type Asking } from './remote.ts';
import { readableOver, sinkOf, sourceOf, writableOver } from './streams.ts';
import { createStub, innerOf, isTarget, type Receiver, type Result } from './stubs.ts';
import type { Reference, References } from './values.ts';

/** The session. */
interface PassedObjectsSession {
  /** Sends a call, or if `args` is null, reads a property. */
  ask(target: number, path: readonly string[], args: readonly unknown[] | null): Result;
  /** Returns references to an object of the other side. */
  release(id: number, references: number): void;
  /** Whether the session has ended. */
  settle(): void;
}

interface Export {
  readonly value: object;
  /** Number of references that the other side holds. */
  references: number;
  readonly onReleased: (() => void) | null;
}

interface Import {
  /** Number of received references that must be returned. */
  references: number;
  /** Number of handles in this isolate. */
  handles: number;
}

export class PassedObjects implements References, Asking {
  readonly #session: PassedObjectsSession;
  // Created with the first object, because most calls pass no objects.
  #exports: Map<number, Export> | null = null;
  #numbers: Map<object, number> | null = null;
  #imports: Map<number, Import> | null = null;
  /** Streams that cross. */
  #streams = 0;
  /** Number of the last object of this side; 0 is the main object. */
  #last = 0;
  /** Stubs in the message being sent whose ownership passes to the other side. */
  #givenAway: Receiver[] = [];
  /** Stubs in the message being read. */
  #received: object[] | null = null;

  constructor(session: PassedObjectsSession) {
    this.#session = session;
  }

  get last(): number {
    return this.#last;
  }

  get hasStreams(): boolean {
    return this.#streams > 0;
  }

  get isEmpty(): boolean {
    return (this.#imports?.size ?? 0) === 0 && (this.#exports?.size ?? 0) === 0;
  }

  /** Call this function when the message with the added objects was sent. */
  sent(): void {
    if (this.#givenAway.length > 0) for (const receiver of this.#givenAway.splice(0)) receiver.dispose?.();
  }

  /**
   * Call this function if the message was not sent: the other side never receives the added objects. @param before the
   * number of the last object before the message.
   */
  unsent(before: number): void {
    this.#givenAway.length = 0;
    for (let id = before + 1; id <= this.#last; id++) this.release(id, 1);
  }

  /** Reads a value. @returns the value that `read` returns, and its stubs. */
  collect(read: () => unknown): { value: unknown; stubs: object[] } {
    const stubs: object[] = (this.#received = []);
    try {
      return { value: read(), stubs };
    } finally {
      this.#received = null;
    }
  }

  /** An object of this side, by its number. @throws {Error} if it was released. */
  own(id: number): object {
    return this.#exportOf(id).value;
  }

  #exportOf(id: number): Export {
    const entry = this.#exports?.get(id);
    if (entry === undefined) throw new Error('RPC stub used after being disposed.');
    return entry;
  }

  add(value: object): Reference | null {
    return this.#add(value, false);
  }

  /** Like `add`, for a result. A result transfers its stubs, while callers keep the stubs in arguments. */
  addToResult(value: object): Reference | null {
    return this.#add(value, true);
  }

  #add(value: object, isResult: boolean): Reference | null {
    const inner = innerOf(value);
    if (inner === null) {
      if (typeof value !== 'function' && !isTarget(value)) return null;
      return ['f', this.#export(value, () => disposerOf(value)?.())];
    }
    if (inner.kind !== 'stub')
      throw new DOMException('A promise or a property of a stub cannot be sent: await it first', 'DataCloneError');
    const { receiver } = inner;
    if (receiver instanceof Handle && receiver.isOf(this)) {
      const id = receiver.id;
      if (isResult) this.#givenAway.push(receiver);
      return ['x', id];
    }
    const passed = isResult || receiver.dup === undefined ? receiver : receiver.dup();
    return ['f', this.#export(isResult ? value : createStub(passed), () => passed.dispose?.())];
  }

  #export(value: object, onReleased: (() => void) | null): number {
    const exports = (this.#exports ??= new Map<number, Export>());
    const numbers = (this.#numbers ??= new Map<object, number>());
    const known = numbers.get(value);
    const entry = known === undefined ? undefined : exports.get(known);
    if (entry !== undefined) {
      entry.references++;
      return known!;
    }
    const id = ++this.#last;
    exports.set(id, { value, references: 1, onReleased });
    numbers.set(value, id);
    return id;
  }

  addSource(stream: object): number {
    return this.#exportStream(sourceOf(stream));
  }

  addSink(stream: object): number {
    return this.#exportStream(sinkOf(stream));
  }

  #exportStream(functions: object): number {
    this.#streams++;
    return this.#export(functions, () => this.#streams--);
  }

  /** Called when the other side returns references to an object of this side. */
  release(id: number, references: number): void {
    const entry = this.#exports?.get(id);
    if (entry === undefined) return;
    entry.references -= references;
    if (entry.references > 0) return;
    this.#exports!.delete(id);
    this.#numbers!.delete(entry.value);
    quietly(entry.onReleased);
  }

  stub([kind, id]: Reference): object {
    const stub = createStub(kind === 'x' ? this.#givenBack(id) : this.#handle(id));
    this.#received?.push(stub);
    return stub;
  }

  /** Finds an object of this side that the other side sends back. */
  #givenBack(id: number): Receiver {
    const entry = this.#exportOf(id);
    entry.references++;
    let isDisposed = false;
    const check = (): void => {
      if (isDisposed) throw new Error('RPC stub used after being disposed.');
    };
    return {
      send: (path, args) => {
        check();
        return local(() => follow(entry.value, path, args));
      },
      dup: () => {
        check();
        return this.#givenBack(id);
      },
      dispose: () => {
        if (isDisposed) return;
        isDisposed = true;
        this.release(id, 1);
        this.#session.settle();
      },
    };
  }

  source(id: number): object {
    const handle = this.#streamHandle(id);
    return readableOver(
      (method, args) => handle.send([method], args).promise,
      () => handle.dispose(),
    );
  }

  sink(id: number): object {
    const handle = this.#streamHandle(id);
    return writableOver(
      (method, args) => handle.send([method], args).promise,
      () => handle.dispose(),
    );
  }

  #streamHandle(id: number): Pick<Handle, 'send' | 'dispose'> {
    this.#streams++;
    const handle = this.#handle(id);
    let isOpen = true;
    return {
      send: (path, args) => handle.send(path, args),
      dispose: () => {
        if (isOpen) this.#streams--;
        isOpen = false;
        handle.dispose();
      },
    };
  }

  #handle(id: number): Handle {
    const imports = (this.#imports ??= new Map<number, Import>());
    const known = imports.get(id) ?? { references: 0, handles: 0 };
    known.references++;
    imports.set(id, known);
    return this.duplicate(id);
  }

  ask(target: number, path: readonly string[], args: readonly unknown[] | null): Result {
    return this.#session.ask(target, path, args);
  }

  duplicate(id: number): Handle {
    const known = this.#imports?.get(id);
    if (known !== undefined) known.handles++;
    return new Handle(this, id);
  }

  forget(id: number): void {
    const known = this.#imports?.get(id);
    if (known === undefined || --known.handles > 0) return;
    this.#imports!.delete(id);
    this.#session.release(id, known.references);
    this.#session.settle();
  }

  /** Called when the session has ended. */
  clear(): void {
    this.#imports = null;
    const left = this.#exports === null ? [] : Array.from(this.#exports.values());
    this.#exports = null;
    this.#numbers = null;
    for (const { onReleased } of left) quietly(onReleased);
  }
}

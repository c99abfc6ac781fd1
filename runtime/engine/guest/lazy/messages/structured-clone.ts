// structuredClone within one realm: a deep copy that preserves cycles and identities. Used by the global, by message
// ports and by bindings that store values. Transferred buffers are detached only after everything was copied.
import { Blob, blobBytes, createBlob, File, isBlob, isFile } from '../../web/blob.ts';
import { platformSteps, registerCloneSteps } from '../../web/clone-steps.ts';
import { DOMException } from '../../web/dom-exception.ts';
import { captureStackTrace, isPlatformPrototype, requireArguments, toDictionary } from '../../web/webidl.ts';

function dataClone(what: string): DOMException {
  return new DOMException(`${what} cannot be cloned`, 'DataCloneError');
}

/** Detects an internal slot with a getter that throws if the slot is missing. */
function hasSlot(value: object, getter: (this: never) => unknown): boolean {
  try {
    getter.call(value as never);
    return true;
  } catch {
    return false;
  }
}

function getterOf(prototype: object, key: PropertyKey): (this: never) => unknown {
  return Object.getOwnPropertyDescriptor(prototype, key)!.get as (this: never) => unknown;
}

const getMapSize = getterOf(Map.prototype, 'size');
const getSetSize = getterOf(Set.prototype, 'size');
const getBufferLength = getterOf(ArrayBuffer.prototype, 'byteLength');
const getTypedArrayTag = getterOf(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag);
const getRegExpSource = getterOf(RegExp.prototype, 'source');
const getRegExpFlags = getterOf(RegExp.prototype, 'flags');
const mapForEach = Map.prototype.forEach;
const setForEach = Set.prototype.forEach;
const bufferSlice = ArrayBuffer.prototype.slice;
const classOf = Object.prototype.toString;

const errorPrototypes: Record<string, Error> = {
  Error: Error.prototype,
  EvalError: EvalError.prototype,
  RangeError: RangeError.prototype,
  ReferenceError: ReferenceError.prototype,
  SyntaxError: SyntaxError.prototype,
  TypeError: TypeError.prototype,
  URIError: URIError.prototype,
};

class Walk {
  readonly seen = new Map<object, object>();

  copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) {
      if (typeof value === 'symbol' || typeof value === 'function')
        throw dataClone(typeof value === 'symbol' ? 'A symbol' : `The function ${value.name}`);
      return value;
    }
    const known = this.seen.get(value);
    if (known !== undefined) return known;
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (Array.isArray(value)) return this.#array(value);
    if (prototype === Object.prototype && !(Symbol.toStringTag in value)) return this.#plainOrExotic(value);
    return this.#special(value, prototype);
  }

  note<T extends object>(value: object, copied: T): T {
    this.seen.set(value, copied);
    return copied;
  }

  #array(value: readonly unknown[]): unknown[] {
    const copied = this.note(value, [] as unknown[]);
    copied.length = value.length;
    this.#properties(value, copied);
    return copied;
  }

  #properties(value: object, copied: object): void {
    for (const key of Object.keys(value)) {
      // An earlier getter may have deleted the property.
      if (!Object.hasOwn(value, key)) continue;
      const item = this.copy((value as Record<string, unknown>)[key]);
      if (key === '__proto__')
        Object.defineProperty(copied, key, { value: item, writable: true, enumerable: true, configurable: true });
      else (copied as Record<string, unknown>)[key] = item;
    }
  }

  /**
   * Objects with an unknown prototype are treated as plain, unless V8 identifies them as exotic; `arguments` is treated
   * as plain.
   */
  #plainOrExotic(value: object): object {
    const kind = classOf.call(value);
    if (kind !== '[object Object]' && kind !== '[object Arguments]') return this.#special(value, null);
    const copied = this.note(value, {});
    this.#properties(value, copied);
    return copied;
  }

  #special(value: object, prototype: object | null): object {
    for (const { clone } of platformSteps) {
      const made = clone?.(value);
      if (made !== undefined) return this.note(value, made);
    }
    const copied = this.#builtIn(value);
    if (copied !== undefined) return copied;
    for (
      let one = prototype;
      one !== null && one !== Object.prototype;
      one = Object.getPrototypeOf(one) as object | null
    ) {
      if (isPlatformPrototype(one) || uncloneable.has(one))
        throw dataClone(`A ${String((value.constructor as { name?: string } | undefined)?.name ?? 'platform object')}`);
    }
    const plain = this.note(value, {});
    this.#properties(value, plain);
    return plain;
  }

  #builtIn(value: object): object | undefined {
    if (ArrayBuffer.isView(value)) return this.#view(value);
    switch (classOf.call(value)) {
      case '[object Date]':
        if (hasSlot(value, Date.prototype.getTime as never))
          return this.note(value, new Date(Date.prototype.getTime.call(value as Date)));
        break;
      case '[object RegExp]':
        if (hasSlot(value, getRegExpSource))
          return this.note(
            value,
            new RegExp(getRegExpSource.call(value as never) as string, getRegExpFlags.call(value as never) as string),
          );
        break;
      case '[object Error]':
        return this.#error(value as Error);
      case '[object Boolean]':
      case '[object Number]':
      case '[object String]':
      case '[object BigInt]':
      case '[object Symbol]': {
        const boxed = this.#boxed(value);
        if (boxed !== undefined) return boxed;
        break;
      }
    }
    if (hasSlot(value, getMapSize)) {
      const copied = this.note(value, new Map<unknown, unknown>());
      const entries: [unknown, unknown][] = [];
      mapForEach.call(value as Map<unknown, unknown>, (item, key) => entries.push([key, item]));
      for (const [key, item] of entries) copied.set(this.copy(key), this.copy(item));
      return copied;
    }
    if (hasSlot(value, getSetSize)) {
      const copied = this.note(value, new Set<unknown>());
      const items: unknown[] = [];
      setForEach.call(value as Set<unknown>, (item) => items.push(item));
      for (const item of items) copied.add(this.copy(item));
      return copied;
    }
    if (hasSlot(value, getBufferLength)) return this.#buffer(value as ArrayBuffer);
    const shared = (globalThis as { SharedArrayBuffer?: { prototype: object } }).SharedArrayBuffer;
    if (shared !== undefined && hasSlot(value, getterOf(shared.prototype, 'byteLength')))
      return this.note(value, value);
    if (Error.prototype.isPrototypeOf(value) && isRealError(value)) return this.#error(value as Error);
    return undefined;
  }

  #boxed(value: object): object | undefined {
    for (const type of [Boolean, Number, String, BigInt]) {
      const valueOf = type.prototype.valueOf as (this: unknown) => unknown;
      if (hasSlot(value, valueOf as never)) return this.note(value, Object(valueOf.call(value)) as object);
    }
    if (hasSlot(value, Symbol.prototype.valueOf as never)) throw dataClone('A symbol object');
    return undefined;
  }

  #error(value: Error): Error {
    const name = String(value.name);
    const prototype = Object.hasOwn(errorPrototypes, name) ? errorPrototypes[name]! : Error.prototype;
    const message = Object.getOwnPropertyDescriptor(value, 'message');
    const copied = this.note(value, new Error());
    if (prototype !== Error.prototype) Object.setPrototypeOf(copied, prototype);
    if (message !== undefined && 'value' in message) define(copied, 'message', `${message.value as string}`);
    const { stack } = value;
    if (typeof stack === 'string') define(copied, 'stack', stack);
    else captureStackTrace(copied, this.copy);
    if (Object.hasOwn(value, 'cause')) define(copied, 'cause', this.copy(value.cause));
    return copied;
  }

  #buffer(value: ArrayBuffer): ArrayBuffer {
    if (value.detached) throw dataClone('A detached ArrayBuffer');
    if (!value.resizable) return this.note(value, bufferSlice.call(value, 0));
    const copied = new ArrayBuffer(value.byteLength, { maxByteLength: value.maxByteLength });
    new Uint8Array(copied).set(new Uint8Array(value));
    return this.note(value, copied);
  }

  #view(value: ArrayBufferView): object {
    const buffer = this.copy(value.buffer) as ArrayBuffer;
    const name = getTypedArrayTag.call(value as never) as string | undefined;
    if (name === undefined) return this.note(value, new DataView(buffer, value.byteOffset, value.byteLength));
    const constructor = (
      globalThis as unknown as Record<string, new (buffer: ArrayBuffer, offset: number, length?: number) => object>
    )[name]!;
    const { length, byteOffset } = value as Uint8Array;
    return this.note(
      value,
      isLengthTracking(value as Uint8Array)
        ? new constructor(buffer, byteOffset)
        : new constructor(buffer, byteOffset, length),
    );
  }
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false });
}

/**
 * Whether a typed array tracks the length of its buffer, as it does if it reaches exactly to the end of a resizable
 * buffer.
 */
function isLengthTracking(view: Uint8Array): boolean {
  const { buffer } = view;
  if (!(buffer instanceof ArrayBuffer) || !buffer.resizable || buffer.byteLength === buffer.maxByteLength) return false;
  const before = view.length;
  const { byteLength } = buffer;
  buffer.resize(Math.min(buffer.maxByteLength, byteLength + view.BYTES_PER_ELEMENT));
  const grew = view.length > before;
  buffer.resize(byteLength);
  return grew;
}

function isRealError(value: object): boolean {
  return classOf.call(value) === '[object Error]' || Object.hasOwn(value, 'stack');
}

// Built-in kinds with internal slots that cannot be cloned.
const uncloneable = new Set<object>([
  WeakMap.prototype,
  WeakSet.prototype,
  WeakRef.prototype,
  FinalizationRegistry.prototype,
  Promise.prototype,
  Object.getPrototypeOf(function* () {}) as object,
  Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()) as object) as object,
]);

registerCloneSteps({
  clone(value) {
    if (isFile(value)) return new File([value], value.name, { type: value.type, lastModified: value.lastModified });
    if (isBlob(value)) return createBlob(blobBytes(value as Blob), (value as Blob).type);
    if (value instanceof DOMException && Object.hasOwn(value, 'stack')) {
      const copied = new DOMException(value.message, value.name);
      define(copied, 'stack', value.stack);
      return copied;
    }
    return undefined;
  },
});

/** A clone, and the copies of the transferred objects in the order of the list. */
interface CloneResult {
  readonly value: unknown;
  readonly transferred: readonly object[];
}

/**
 * Clones a value and moves the listed objects. @throws {DOMException} DataCloneError for values that cannot be
 * cloned.
 */
export function cloneWithTransfer(value: unknown, transfer: readonly unknown[]): CloneResult {
  const walk = new Walk();
  const transferred: object[] = [];
  const finish: (() => void)[] = [];
  const listed = new Set<unknown>();
  for (const item of transfer) {
    if (typeof item !== 'object' || item === null || listed.has(item))
      throw new DOMException(
        'The transfer list contains a duplicate, or a value that is not an object',
        'DataCloneError',
      );
    listed.add(item);
    if (hasSlot(item, getBufferLength)) {
      const buffer = item as ArrayBuffer;
      if (buffer.detached) throw new DOMException('A detached ArrayBuffer cannot be transferred', 'DataCloneError');
      // Bytes are copied first, and the original is detached last, so that a failure does not change it.
      transferred.push(walk.copy(buffer) as ArrayBuffer);
      finish.push(() => void buffer.transfer(0));
      continue;
    }
    const steps = platformSteps.find((one) => one.canTransfer?.(item) === true);
    if (steps === undefined)
      throw new DOMException('An object in the transfer list cannot be transferred', 'DataCloneError');
    const index = transferred.length;
    const moved = steps.transfer!(item);
    transferred[index] = moved;
    walk.seen.set(item, moved);
  }
  const copied = walk.copy(value);
  for (const run of finish) run();
  return { value: copied, transferred };
}

/** The transfer list of an options argument. */
export function transferList(options: unknown): unknown[] {
  const { transfer } = toDictionary(options, 'The options');
  if (transfer === undefined) return [];
  if (typeof transfer !== 'object' || transfer === null || !(Symbol.iterator in transfer))
    throw new TypeError('The transfer list must be iterable');
  return [...(transfer as Iterable<unknown>)];
}

/** The global `structuredClone`. */
export function structuredClone(value: unknown, options: unknown = undefined): unknown {
  requireArguments(arguments.length, 1, 'structuredClone');
  const transfer = transferList(options);
  return transfer.length === 0 ? new Walk().copy(value) : cloneWithTransfer(value, transfer).value;
}

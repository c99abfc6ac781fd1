// The WebIDL rules for all interfaces: conversions of strings, and attributes of members. Used by all files of web/.
// Independent of any single API.

interface ErrorConstructorOfV8 {
  captureStackTrace(target: object, above?: unknown): void;
}

/** V8's function that adds a stack to any object; absent in the ES library types. */
export const captureStackTrace = (Error as unknown as ErrorConstructorOfV8).captureStackTrace;

/** Only files of web/ pass this value to a constructor; when a script calls `new`, it gets "Illegal constructor". */
export const internal: unique symbol = Symbol('internal');

/** Converts to a DOMString; throws on symbols, like the abstract ToString. */
export function toDomString(value: unknown): string {
  return typeof value === 'string' ? value : `${value as string}`;
}

/** Converts to a USVString: lone surrogates become U+FFFD. */
export function toUsvString(value: unknown): string {
  const text = typeof value === 'string' ? value : `${value as string}`;
  return text.isWellFormed() ? text : text.toWellFormed();
}

const beyondByte = /[^\0-\xff]/;

/** Converts to a ByteString: every code unit must fit into a byte. */
export function toByteString(value: unknown): string {
  const text = typeof value === 'string' ? value : `${value as string}`;
  if (beyondByte.test(text)) throw new TypeError('The string contains a character above U+00FF');
  return text;
}

/** Throws the TypeError of a call with too few arguments. */
export function requireArguments(given: number, required: number, what: string): void {
  if (given < required)
    throw new TypeError(`${what} needs ${required} argument${required === 1 ? '' : 's'}, got ${given}`);
}

/** Reads a dictionary argument: undefined and null mean an empty dictionary, primitives are refused. */
export function toDictionary(value: unknown, what: string): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' && typeof value !== 'function') throw new TypeError(`${what} must be an object`);
  return value as Record<string, unknown>;
}

/**
 * Reads a sequence as WebIDL requires: from any iterable, converting one value after the other.
 *
 * @param method the `Symbol.iterator` of the object.
 */
export function toSequence<T>(from: object, method: unknown, what: string, convert: (value: unknown) => T): T[] {
  if (typeof method !== 'function') throw new TypeError(`${what} cannot be iterated`);
  const iterator: unknown = Reflect.apply(method, from, []);
  if (!isObject(iterator)) throw new TypeError(`${what} cannot be iterated`);
  const { next } = iterator as unknown as Iterator<unknown>;
  const values: T[] = [];
  for (;;) {
    const result: unknown = Reflect.apply(next, iterator, []);
    if (!isObject(result)) throw new TypeError(`${what} cannot be iterated`);
    const step = result as unknown as IteratorResult<unknown>;
    if (step.done) return values;
    values.push(convert(step.value));
  }
}

/** Whether a value is an object or a function. */
export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Returns an enumeration value, or throws a TypeError that names the allowed values. */
export function toEnumeration<T extends string>(value: unknown, allowed: readonly T[], what: string): T {
  const text = toDomString(value);
  if (!allowed.includes(text as T)) throw new TypeError(`${what} must be one of ${allowed.join(', ')}; got "${text}"`);
  return text as T;
}

type Constructor = abstract new (...parameters: never[]) => object;

const functionProperties = new Set(['prototype', 'name', 'length']);
const platformPrototypes = new WeakSet<object>();

/** Whether a prototype belongs to one of the platform's interfaces, whose objects are not plain data. */
export function isPlatformPrototype(prototype: object): boolean {
  return platformPrototypes.has(prototype);
}

/**
 * Makes the members of a class enumerable, and gives its prototype the class string, as WebIDL requires for interfaces.
 */
export function finishInterface(constructor: Constructor, name: string = constructor.name): void {
  const prototype = constructor.prototype as object;
  platformPrototypes.add(prototype);
  for (const owner of [prototype, constructor]) {
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (owner === prototype ? key === 'constructor' : functionProperties.has(key)) continue;
      descriptor.enumerable = true;
      Object.defineProperty(owner, key, descriptor);
    }
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** Defines constants on the interface object and on its prototype, read-only. */
export function defineConstants(constructor: Constructor, constants: Record<string, number>): void {
  for (const [key, value] of Object.entries(constants)) {
    const descriptor = { value, enumerable: true };
    Object.defineProperty(constructor, key, descriptor);
    Object.defineProperty(constructor.prototype, key, descriptor);
  }
}

/**
 * Converts a class with a `next` method to the iterator of an interface: class string "<name> Iterator", no
 * constructor.
 */
export function finishIterator(constructor: Constructor, name: string): void {
  const prototype = constructor.prototype as Record<string | symbol, unknown>;
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as object);
  finishInterface(constructor, `${name} Iterator`);
  Reflect.deleteProperty(prototype, 'constructor');
}

// Values of RPC messages as JSON and binary parts: everything that structuredClone accepts, and values that are passed
// by reference (functions, RpcTargets, streams) or rebuilt (Request, Response, Headers, URL). Used by session.ts, whose
// `References` number the values that are passed by reference.
import { blobBytes, createBlob, isBlob } from '../../web/blob.ts';
import { DOMException } from '../../web/dom-exception.ts';
import { Headers } from '../../web/headers.ts';
import { isRequest, Request } from '../../web/request.ts';
import { Response } from '../../web/response.ts';
import { isReadableStream } from '../../web/streams.ts';
import { URL } from '../../web/url.ts';
import { isWritableStream } from './streams.ts';

/** Numbers the values that a message passes by reference. */
export interface References {
  /**
   * Returns a number for a function, an RpcTarget or a stub of another session; null if the value is passed by value.
   */
  add(value: object): Reference | null;
  /** Like `add`, for the result of a call. */
  addToResult(value: object): Reference | null;
  addSource(stream: object): number;
  addSink(stream: object): number;
  /** The value of a reference from the other side. */
  stub(reference: Reference): object;
  source(id: number): object;
  sink(id: number): object;
}

/** `f` is the number of an object of the sender, `x` of an object of the receiver. */
export type Reference = readonly ['f' | 'x', number];

/** A value in a message: the value itself if JSON supports it, otherwise a list that begins with its kind. */
type Written = string | number | boolean | null | readonly [kind: string, ...rest: unknown[]];

const STANDARD_ERRORS: Readonly<Record<string, ErrorConstructor>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

const classOf = Object.prototype.toString;
const { getPrototypeOf, hasOwn, keys } = Object;

function refuse(what: string): DOMException {
  return new DOMException(`${what} cannot be sent to another worker`, 'DataCloneError');
}

/** Writes one value. `parts` collects its bytes. */
export class ValueWriter {
  readonly parts: Uint8Array[] = [];
  #references: References;
  #isResult: boolean;
  #known = new Map<object, number>();

  constructor(references: References, isResult: boolean) {
    this.#references = references;
    this.#isResult = isResult;
  }

  /** @throws {DOMException} DataCloneError, or the error that a getter of the value throws. */
  write(value: unknown): Written {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : ['n', Object.is(value, -0) ? '-0' : `${value}`];
      case 'undefined':
        return ['u'];
      case 'bigint':
        return ['i', `${value}`];
      case 'symbol':
        throw refuse('A symbol');
      case 'function':
      case 'object':
        return value === null ? null : this.#object(value);
    }
  }

  #object(value: object): Written {
    const known = this.#known.get(value);
    if (known !== undefined) return ['r', known];
    const reference = this.#isResult ? this.#references.addToResult(value) : this.#references.add(value);
    if (reference !== null) return reference;
    this.#known.set(value, this.#known.size);
    if (Array.isArray(value)) return ['a', value.length, this.#entries(value)];
    const prototype = getPrototypeOf(value) as object | null;
    if (prototype === Object.prototype) {
      // Error objects and other special objects may have been given this prototype; `arguments` is treated as plain.
      const kind = classOf.call(value);
      if (kind === '[object Object]' || kind === '[object Arguments]' || Symbol.toStringTag in value)
        return ['o', this.#entries(value)];
    }
    return this.#platform(value) ?? this.#builtIn(value);
  }

  /** Writes names and values, alternating. A getter may delete the following properties. */
  #entries(value: object): unknown[] {
    const entries: unknown[] = [];
    for (const key of keys(value))
      if (hasOwn(value, key)) entries.push(key, this.write((value as Readonly<Record<string, unknown>>)[key]));
    return entries;
  }

  #platform(value: object): Written | undefined {
    if (value instanceof Headers) return ['H', [...value]];
    if (value instanceof URL) return ['U', value.href];
    if (isRequest(value)) {
      const { method, url, redirect, body } = value;
      return ['Q', url, method, [...value.headers], redirect, this.#body(body)];
    }
    if (value instanceof Response) {
      if (value.webSocket !== null) throw refuse('A response with a WebSocket');
      return ['S', value.status, value.statusText, [...value.headers], this.#body(value.body)];
    }
    if (isBlob(value)) return ['k', this.#bytes(blobBytes(value as never)), (value as { type: string }).type];
    if (isReadableStream(value)) return ['R', this.#references.addSource(value)];
    if (isWritableStream(value)) return ['W', this.#references.addSink(value)];
    return undefined;
  }

  #body(body: unknown): unknown {
    return body === null ? null : this.#references.addSource(body as object);
  }

  #builtIn(value: object): Written {
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value;
      const name = classOf.call(value).slice(8, -1);
      // Only the bytes of the view are sent, unless the message also has the buffer.
      const shared = this.#known.get(buffer);
      if (shared !== undefined)
        return ['v', name, ['r', shared], byteOffset, name === 'DataView' ? byteLength : (value as Uint8Array).length];
      const part = this.#bytes(new Uint8Array(buffer, byteOffset, byteLength));
      return ['w', name, part];
    }
    switch (classOf.call(value)) {
      case '[object Date]':
        return ['d', Number.isNaN((value as Date).getTime()) ? null : (value as Date).getTime()];
      case '[object RegExp]':
        return ['x/', (value as RegExp).source, (value as RegExp).flags];
      case '[object Map]': {
        const pairs: unknown[] = [];
        for (const [key, item] of Array.from(value as Map<unknown, unknown>))
          pairs.push(this.write(key), this.write(item));
        return ['m', pairs];
      }
      case '[object Set]':
        return ['s', Array.from(value as Set<unknown>).map((item) => this.write(item))];
      case '[object ArrayBuffer]':
        return ['b', this.#bytes(new Uint8Array(value as ArrayBuffer))];
      case '[object Boolean]':
      case '[object Number]':
      case '[object String]':
      case '[object BigInt]':
        return ['B', this.write((value as { valueOf(): unknown }).valueOf())];
    }
    if (Error.prototype.isPrototypeOf(value) || classOf.call(value) === '[object Error]')
      return this.#error(value as Error);
    const { name } = (value.constructor ?? {}) as { name?: unknown };
    throw new DOMException(
      `Could not serialize object of type "${typeof name === 'string' ? name : 'Object'}". ` +
        'This type does not support serialization.',
      'DataCloneError',
    );
  }

  /** The bytes are copied, because the message's memory is transferred. */
  #bytes(view: Uint8Array): number {
    return this.parts.push(view.slice()) - 1;
  }

  #error(error: Error): Written {
    const own: unknown[] = [];
    for (const key of keys(error)) {
      if (key === 'name' || key === 'message' || key === 'stack') continue;
      own.push(key, this.write((error as unknown as Readonly<Record<string, unknown>>)[key]));
    }
    // Errors of the platform have a property that `for in` does not list.
    const code = Object.getOwnPropertyDescriptor(error, 'code');
    if (code?.enumerable === false && typeof code.value === 'string') own.push('code', code.value);
    const cause = hasOwn(error, 'cause') && !keys(error).includes('cause') ? [this.write(error.cause)] : [];
    const { name, message, stack } = error;
    const kind = error instanceof DOMException ? 'D' : 'e';
    return [kind, `${name}`, `${message}`, typeof stack === 'string' ? stack : null, own, ...cause];
  }
}

/** Reads values that {@link ValueWriter} has written. @throws {Error} for anything else. */
export class ValueReader {
  #references: References;
  #parts: readonly Uint8Array[];
  #made: unknown[] = [];

  constructor(references: References, parts: readonly Uint8Array[]) {
    this.#references = references;
    this.#parts = parts;
  }

  read(written: unknown): unknown {
    if (typeof written !== 'object' || written === null) return written;
    const [kind, ...rest] = written as readonly [string, ...unknown[]];
    switch (kind) {
      case 'u':
        return undefined;
      case 'n':
        return Number(rest[0]);
      case 'i':
        return BigInt(rest[0] as string);
      case 'r':
        return this.#made[rest[0] as number];
      case 'f':
      case 'x':
        return this.#references.stub([kind, rest[0] as number]);
      default:
        return this.#object(kind, rest);
    }
  }

  /** Objects are numbered in the order in which they begin. */
  #object(kind: string, rest: readonly unknown[]): unknown {
    const at = this.#made.push(undefined) - 1;
    const keep = <Made>(made: Made): Made => (this.#made[at] = made);
    switch (kind) {
      case 'o':
        return this.#fill(keep({}), rest[0]);
      case 'a': {
        const list: unknown[] = keep([]);
        list.length = rest[0] as number;
        return this.#fill(list, rest[1]);
      }
      case 'd':
        return keep(new Date((rest[0] as number | null) ?? Number.NaN));
      case 'x/':
        return keep(new RegExp(rest[0] as string, rest[1] as string));
      case 'm': {
        const map = keep(new Map<unknown, unknown>());
        const pairs = rest[0] as readonly unknown[];
        for (let index = 0; index < pairs.length; index += 2)
          map.set(this.read(pairs[index]), this.read(pairs[index + 1]));
        return map;
      }
      case 's': {
        const set = keep(new Set<unknown>());
        for (const item of rest[0] as readonly unknown[]) set.add(this.read(item));
        return set;
      }
      case 'b':
        return keep(this.#part(rest[0]).buffer);
      case 'w': {
        const [name, part] = rest as [string, number];
        const { buffer } = this.#part(part);
        return keep(viewOf(name, buffer as ArrayBuffer));
      }
      case 'v': {
        const [name, buffer, offset, length] = rest as [string, unknown, number, number];
        return keep(viewOf(name, this.read(buffer) as ArrayBuffer, offset, length));
      }
      case 'B':
        return keep(Object(this.read(rest[0])) as object);
      case 'e':
      case 'D':
        return this.#error(kind, keep, rest);
      case 'H':
        return keep(new Headers(rest[0] as never));
      case 'U':
        return keep(new URL(rest[0] as string));
      case 'k':
        return keep(createBlob(this.#part(rest[0]), rest[1] as string));
      case 'R':
        return keep(this.#references.source(rest[0] as number));
      case 'W':
        return keep(this.#references.sink(rest[0] as number));
      case 'Q': {
        const [url, method, headers, redirect, body] = rest;
        return keep(new Request(url, { method, headers, redirect, ...this.#body(body) }));
      }
      case 'S': {
        const [status, statusText, headers, body] = rest;
        return keep(new Response((this.#body(body).body ?? null) as never, { status, statusText, headers } as never));
      }
      default:
        throw new Error(`A message has a value of kind ${String(kind).slice(0, 10)}`);
    }
  }

  #body(body: unknown): { readonly body?: object; readonly duplex?: 'half' } {
    return body === null ? {} : { body: this.#references.source(body as number), duplex: 'half' };
  }

  #part(index: unknown): Uint8Array {
    const part = this.#parts[index as number];
    if (part === undefined) throw new Error('A message lacks a part');
    return part;
  }

  #fill<Made extends object>(made: Made, entries: unknown): Made {
    const list = entries as readonly unknown[];
    for (let at = 0; at < list.length; at += 2) define(made, list[at] as string, this.read(list[at + 1]), true);
    return made;
  }

  #error(kind: string, keep: (made: Error) => Error, rest: readonly unknown[]): Error {
    const [name, message, stack, own, cause] = rest as [string, string, string | null, unknown, unknown];
    const known = hasOwn(STANDARD_ERRORS, name) ? STANDARD_ERRORS[name]! : Error;
    const made = keep(kind === 'D' ? (new DOMException(message, name) as unknown as Error) : new known(message));
    if (kind === 'e' && made.name !== name) define(made, 'name', name, false);
    if (stack !== null) define(made, 'stack', stack, false);
    this.#fill(made, own);
    if (rest.length > 4) define(made, 'cause', this.read(cause), false);
    return made;
  }
}

function viewOf(name: string, buffer: ArrayBuffer, offset = 0, length?: number): object {
  if (
    name !== 'DataView' &&
    !/^(?:Ui|I)nt(?:8|16|32)(?:Clamped)?Array$|^Big(?:Ui|I)nt64Array$|^Float(?:16|32|64)Array$/.test(name)
  )
    throw new Error('A message has a view of an unknown kind');
  const constructor = (
    globalThis as unknown as Record<string, new (buffer: ArrayBuffer, offset: number, length?: number) => object>
  )[name]!;
  return new constructor(buffer, offset, length);
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable });
}

// Headers over a flat list of lower-case names and values. A list from the bridge stays one unparsed block until it is
// read, and a plain object becomes a block without a list. Used by request.ts, response.ts, fetch.
//
// Like other server runtimes, it does not refuse headers by their meaning: `cookie`, `host` and `set-cookie` are
// ordinary headers.
import { normalName, normalValue, pieceOf, refuseControls } from './header-fields.ts';
import {
  finishInterface,
  finishIterator,
  internal,
  isObject,
  requireArguments,
  toByteString,
  toSequence,
} from './webidl.ts';

type HeadersGuard = 'none' | 'immutable';

function parseBlock(block: string): string[] {
  if (block === '') return [];
  const list = block.split('\0');
  list.pop();
  return list;
}

// In a short list, a linear search is fastest; longer lists have an index.
const SHORT_LIST = 128;

let listOf: (headers: Headers) => string[];
let sortedOf: (headers: Headers) => string[];
let blockOf: (headers: Headers) => string;
/** Like the constructor, but with the iteration method of the object. */
let headersFromInit: (init: unknown, method: unknown) => Headers;
let create: (block: string, guard: HeadersGuard) => Headers;
export let isHeaders: (value: unknown) => value is Headers;
/** A copy with its own guard. */
export let copyHeaders: (headers: Headers, guard: HeadersGuard) => Headers;
/** Appends the implied content type unless there is one, regardless of the guard. */
export let addMissing: (headers: Headers, name: string, value: string) => void;

export class Headers {
  #block: string | null = '';
  #list: string[] | null = null;
  #sorted: string[] | null = null;
  #index: Map<string, number> | null = null;
  #repeats = true;
  #guard: HeadersGuard = 'none';

  constructor(init: unknown = undefined) {
    if (init === undefined || init === internal) return;
    if (!isObject(init)) {
      throw new TypeError('Headers must be made from an object, a list of pairs or Headers');
    }
    this.#list = listFromInit(init, iteratorOf(init));
    this.#block = null;
  }

  append(name: string, value: string): void {
    requireArguments(arguments.length, 2, 'Headers.append');
    const lower = normalName(name);
    const normal = normalValue(value);
    const list = this.#change();
    if (this.#index !== null) {
      if (this.#index.has(lower)) this.#repeats = true;
      else this.#index.set(lower, list.length);
    }
    list.push(lower, normal);
  }

  delete(name: string): void {
    requireArguments(arguments.length, 1, 'Headers.delete');
    const lower = normalName(name);
    const list = this.#change();
    const first = this.#find(list, lower);
    if (first >= 0) this.#removeFrom(list, lower, first);
  }

  get(name: string): string | null {
    requireArguments(arguments.length, 1, 'Headers.get');
    const lower = normalName(name);
    const list = listOf(this);
    const first = this.#find(list, lower);
    if (first < 0) return null;
    let value = list[first + 1]!;
    if (this.#index !== null && !this.#repeats) return value;
    for (let at = first + 2; at < list.length; at += 2) if (list[at] === lower) value += `, ${list[at + 1]!}`;
    return value;
  }

  getSetCookie(): string[] {
    const list = listOf(this);
    const values: string[] = [];
    for (let at = 0; at < list.length; at += 2) if (list[at] === 'set-cookie') values.push(list[at + 1]!);
    return values;
  }

  has(name: string): boolean {
    requireArguments(arguments.length, 1, 'Headers.has');
    const lower = normalName(name);
    return this.#find(listOf(this), lower) >= 0;
  }

  set(name: string, value: string): void {
    requireArguments(arguments.length, 2, 'Headers.set');
    const lower = normalName(name);
    const normal = normalValue(value);
    const list = this.#change();
    const first = this.#find(list, lower);
    if (first < 0) {
      this.#index?.set(lower, list.length);
      list.push(lower, normal);
      return;
    }
    list[first + 1] = normal;
    if (this.#index === null || this.#repeats) this.#removeFrom(list, lower, first + 2);
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArgument: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'Headers.forEach');
    if (typeof callback !== 'function') throw new TypeError('Headers.forEach needs a function');
    for (let at = 0; at < sortedOf(this).length; at += 2) {
      const sorted = sortedOf(this);
      callback.call(thisArgument, sorted[at + 1]!, sorted[at]!, this);
    }
  }

  entries(): IterableIterator<[string, string]> {
    return iterate(this, 'entries') as IterableIterator<[string, string]>;
  }
  keys(): IterableIterator<string> {
    return iterate(this, 'keys') as IterableIterator<string>;
  }
  values(): IterableIterator<string> {
    return iterate(this, 'values') as IterableIterator<string>;
  }
  declare [Symbol.iterator]: () => IterableIterator<[string, string]>;

  #change(): string[] {
    if (this.#guard === 'immutable') throw new TypeError('These headers are immutable');
    const list = listOf(this);
    this.#block = null;
    this.#sorted = null;
    return list;
  }

  #find(list: string[], lower: string): number {
    if (list.length <= SHORT_LIST) {
      for (let at = 0; at < list.length; at += 2) if (list[at] === lower) return at;
      return -1;
    }
    if (this.#index === null) {
      this.#index = new Map();
      this.#repeats = false;
      for (let at = 0; at < list.length; at += 2) {
        if (this.#index.has(list[at]!)) this.#repeats = true;
        else this.#index.set(list[at]!, at);
      }
    }
    return this.#index.get(lower) ?? -1;
  }

  #removeFrom(list: string[], lower: string, start: number): void {
    let to = start;
    for (let at = start; at < list.length; at += 2) {
      if (list[at] === lower) continue;
      list[to] = list[at]!;
      list[to + 1] = list[at + 1]!;
      to += 2;
    }
    if (to === list.length) return;
    list.length = to;
    this.#index = null;
  }

  static {
    isHeaders = (value): value is Headers => typeof value === 'object' && value !== null && #guard in value;
    listOf = (headers) => (headers.#list ??= parseBlock(headers.#block!));
    sortedOf = (headers) => (headers.#sorted ??= sortAndCombine(listOf(headers)));
    create = (block, guard) => {
      const headers = new Headers(internal);
      headers.#block = block;
      headers.#guard = guard;
      return headers;
    };
    headersFromInit = (init, method) => {
      if (typeof init !== 'object' || init === null || isHeaders(init)) return new Headers(init);
      const headers = new Headers(internal);
      headers.#list = listFromInit(init, method);
      headers.#block = null;
      return headers;
    };
    blockOf = (headers) => (headers.#block ??= joinBlock(headers.#list!));
    copyHeaders = (headers, guard) => {
      const copy = new Headers(internal);
      copy.#guard = guard;
      copy.#block = headers.#block;
      copy.#list = headers.#block === null ? headers.#list!.slice() : null;
      return copy;
    };
    addMissing = (headers, name, value) => {
      const list = listOf(headers);
      if (headers.#find(list, name) >= 0) return;
      headers.#block = null;
      headers.#sorted = null;
      headers.#index = null;
      list.push(name, value);
    };
  }
}
finishInterface(Headers);
Object.defineProperty(Headers.prototype, Symbol.iterator, {
  value: Headers.prototype.entries,
  writable: true,
  configurable: true,
});

/** Headers over a block `name\0value\0...` whose names are lower-case; the block is trusted and parsed on first use. */
export function headersFromBlock(block: string, guard: HeadersGuard): Headers {
  return create(block, guard);
}

/**
 * The block `name\0value\0...` of headers.
 *
 * @throws {TypeError} when a value contains a control character.
 */
export function headersToBlock(headers: Headers): string {
  return blockOf(headers);
}

/**
 * The block that `new Headers(init)` would have, without creating Headers if init is a plain object.
 *
 * @param impliedType a content type to add when init names none; null for none.
 */
export function blockFromInit(init: unknown, impliedType: string | null): string {
  const method = typeof init === 'object' && init !== null && !isHeaders(init) ? iteratorOf(init) : null;
  if (typeof init !== 'object' || init === null || method !== undefined) {
    const headers = isHeaders(init) && impliedType === null ? init : headersFromInit(init, method);
    if (impliedType !== null) addMissing(headers, 'content-type', impliedType);
    return blockOf(headers);
  }
  // The object is copied, which reads a Proxy's keys once, and the descriptor and value of each, as the standard
  // requires. For a plain object, this takes a third of the time of reading properties one by one.
  const record = { ...(init as Record<string, unknown>) };
  if (Object.getOwnPropertySymbols(record).length > 0) throw new TypeError(symbolName);
  let block = '';
  let implied = impliedType;
  for (const name of Object.keys(record)) {
    const piece = pieceOf(name, record[name]);
    if (implied !== null && piece.startsWith('content-type\0')) implied = null;
    block += piece;
  }
  return implied === null ? block : `content-type\0${implied}\0${block}`;
}

const symbolName = 'A header name cannot be a symbol';

function joinBlock(list: readonly string[]): string {
  let block = '';
  for (let at = 0; at < list.length; at += 2) {
    refuseControls(list[at + 1]!);
    block += `${list[at]!}\0${list[at + 1]!}\0`;
  }
  return block;
}

/**
 * The iterator method of an object; undefined if there is none, so the object is a record. Read only once, because it
 * may be a getter.
 */
function iteratorOf(init: object): unknown {
  return (init as Partial<Iterable<unknown>>)[Symbol.iterator] ?? undefined;
}

function listFromInit(init: object, method: unknown): string[] {
  if (isHeaders(init) && method === Headers.prototype.entries) return listOf(init).slice();
  const list: string[] = [];
  if (method === undefined) {
    for (const [name, value] of toRecord(init)) list.push(normalName(name), normalValue(value));
    return list;
  }
  const pairs = toSequence(init, method, 'The headers', (pair) => {
    if (!isObject(pair)) throw new TypeError(notPair);
    return toSequence(pair, iteratorOf(pair), 'A header', toByteString);
  });
  for (const pair of pairs) {
    if (pair.length !== 2) throw new TypeError(notPair);
    list.push(normalName(pair[0]), normalValue(pair[1]));
  }
  return list;
}

const notPair = 'A header must be a pair of name and value';

/** Reads a record of byte strings as WebIDL requires: its keys once, then the descriptor and value of each. */
function toRecord(init: object): [name: string, value: string][] {
  const entries: [string, string][] = [];
  for (const key of Reflect.ownKeys(init)) {
    if (!isEnumerable.call(init, key)) continue;
    if (typeof key === 'symbol') throw new TypeError(symbolName);
    entries.push([toByteString(key), toByteString((init as Record<string, unknown>)[key])]);
  }
  return entries;
}

const isEnumerable = Object.prototype.propertyIsEnumerable;

/** Sorted by name. Values with the same name are combined, except those of `set-cookie`. */
function sortAndCombine(list: readonly string[]): string[] {
  const positions = Array.from({ length: list.length / 2 }, (_, index) => index * 2);
  positions.sort((a, b) => (list[a]! < list[b]! ? -1 : list[a]! > list[b]! ? 1 : a - b));
  const sorted: string[] = [];
  for (const at of positions) {
    const name = list[at]!;
    const value = list[at + 1]!;
    if (name !== 'set-cookie' && sorted[sorted.length - 2] === name) sorted[sorted.length - 1] += `, ${value}`;
    else sorted.push(name, value);
  }
  return sorted;
}

type IterationKind = 'entries' | 'keys' | 'values';

class HeadersIterator {
  readonly #headers: Headers;
  readonly #kind: IterationKind;
  #at = 0;
  constructor(headers: Headers, kind: IterationKind) {
    this.#headers = headers;
    this.#kind = kind;
  }
  next(): IteratorResult<unknown> {
    // The list is read at every step, so that the iteration sees changes.
    const sorted = sortedOf(this.#headers);
    const at = this.#at;
    if (at >= sorted.length) return { value: undefined, done: true };
    this.#at = at + 2;
    const value =
      this.#kind === 'keys' ? sorted[at]! : this.#kind === 'values' ? sorted[at + 1]! : [sorted[at]!, sorted[at + 1]!];
    return { value, done: false };
  }
}
finishIterator(HeadersIterator, 'Headers');

function iterate(headers: Headers, kind: IterationKind): unknown {
  listOf(headers);
  return new HeadersIterator(headers, kind);
}

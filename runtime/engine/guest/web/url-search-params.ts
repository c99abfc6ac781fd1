// URLSearchParams and the application/x-www-form-urlencoded codec. Pairs are in one flat list; a URL that owns the
// object is notified of every change.
import { encodeSets, percentDecode, percentEncode } from './url-encode.ts';
import { finishInterface, finishIterator, internal, requireArguments, toUsvString } from './webidl.ts';

/** Parses `a=b&c=d` to a flat list of names and values. */
export function parseUrlencoded(text: string): string[] {
  const list: string[] = [];
  const { length } = text;
  // Where the name and the value of the current pair begin, and whether they must be decoded.
  let from = 0;
  let valueFrom = -1;
  let name = '';
  let encoded = false;
  for (let at = 0; at <= length; at++) {
    const unit = at < length ? text.charCodeAt(at) : 38;
    if (unit === 37 || unit === 43) encoded = true;
    else if (unit === 61 && valueFrom < 0) {
      name = encoded ? decodeForm(text.slice(from, at)) : text.slice(from, at);
      valueFrom = at + 1;
      encoded = false;
    } else if (unit === 38) {
      if (at > from) {
        const start = valueFrom < 0 ? from : valueFrom;
        const last = encoded ? decodeForm(text.slice(start, at)) : text.slice(start, at);
        if (valueFrom < 0) list.push(last, '');
        else list.push(name, last);
      }
      from = at + 1;
      valueFrom = -1;
      encoded = false;
    }
  }
  return list;
}

function decodeForm(text: string): string {
  return percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text);
}

function encodeForm(text: string): string {
  return percentEncode(text, encodeSets.form, true);
}

/** Serializes a flat list of names and values. */
function toUrlencoded(list: readonly string[]): string {
  let text = '';
  for (let at = 0; at < list.length; at += 2)
    text += `${at === 0 ? '' : '&'}${encodeForm(list[at]!)}=${encodeForm(list[at + 1]!)}`;
  return text;
}

/** Creates a URLSearchParams for the query of a URL; `changed` receives the new query. */
export let createUrlParams: (query: string, changed: (query: string) => void) => URLSearchParams;
/** Replaces the pairs when the query of the URL has changed. */
export let replaceParams: (params: URLSearchParams, query: string) => void;
export let isUrlSearchParams: (value: unknown) => value is URLSearchParams;

let listOf: (params: URLSearchParams) => readonly string[];

export class URLSearchParams {
  #list: string[] = [];
  #changed: ((query: string) => void) | null = null;

  constructor(init: unknown = '') {
    if (init === internal) return;
    if ((typeof init === 'object' && init !== null) || typeof init === 'function') this.#list = listFromInit(init);
    else {
      const text = toUsvString(init);
      this.#list = parseUrlencoded(text.startsWith('?') ? text.slice(1) : text);
    }
  }

  get size(): number {
    return this.#list.length / 2;
  }

  append(name: string, value: string): void {
    requireArguments(arguments.length, 2, 'URLSearchParams.append');
    this.#list.push(toUsvString(name), toUsvString(value));
    this.#tell();
  }

  delete(name: string, value: string | undefined = undefined): void {
    requireArguments(arguments.length, 1, 'URLSearchParams.delete');
    const key = toUsvString(name);
    const only = value === undefined ? undefined : toUsvString(value);
    this.#keep((at) => this.#list[at] !== key || (only !== undefined && this.#list[at + 1] !== only), 0);
    this.#tell();
  }

  get(name: string): string | null {
    requireArguments(arguments.length, 1, 'URLSearchParams.get');
    const at = this.#find(toUsvString(name));
    return at < 0 ? null : this.#list[at + 1]!;
  }

  getAll(name: string): string[] {
    requireArguments(arguments.length, 1, 'URLSearchParams.getAll');
    const key = toUsvString(name);
    const values: string[] = [];
    for (let at = 0; at < this.#list.length; at += 2) if (this.#list[at] === key) values.push(this.#list[at + 1]!);
    return values;
  }

  has(name: string, value: string | undefined = undefined): boolean {
    requireArguments(arguments.length, 1, 'URLSearchParams.has');
    const key = toUsvString(name);
    if (value === undefined) return this.#find(key) >= 0;
    const only = toUsvString(value);
    for (let at = 0; at < this.#list.length; at += 2)
      if (this.#list[at] === key && this.#list[at + 1] === only) return true;
    return false;
  }

  set(name: string, value: string): void {
    requireArguments(arguments.length, 2, 'URLSearchParams.set');
    const key = toUsvString(name);
    const text = toUsvString(value);
    const first = this.#find(key);
    if (first < 0) this.#list.push(key, text);
    else {
      this.#list[first + 1] = text;
      this.#keep((at) => this.#list[at] !== key, first + 2);
    }
    this.#tell();
  }

  sort(): void {
    const list = this.#list;
    const positions = Array.from({ length: list.length / 2 }, (_, index) => index * 2);
    // Sorts by UTF-16 code units; equal names keep their order.
    positions.sort((a, b) => (list[a]! < list[b]! ? -1 : list[a]! > list[b]! ? 1 : a - b));
    this.#list = positions.flatMap((at) => [list[at]!, list[at + 1]!]);
    this.#tell();
  }

  entries(): IterableIterator<[string, string]> {
    return new ParamsIterator(this, 'entries') as unknown as IterableIterator<[string, string]>;
  }
  forEach(
    callback: (value: string, name: string, params: URLSearchParams) => void,
    thisArgument: unknown = undefined,
  ): void {
    requireArguments(arguments.length, 1, 'URLSearchParams.forEach');
    if (typeof callback !== 'function') throw new TypeError('URLSearchParams.forEach needs a function');
    for (let at = 0; at < this.#list.length; at += 2)
      callback.call(thisArgument, this.#list[at + 1]!, this.#list[at]!, this);
  }
  keys(): IterableIterator<string> {
    return new ParamsIterator(this, 'keys') as unknown as IterableIterator<string>;
  }
  values(): IterableIterator<string> {
    return new ParamsIterator(this, 'values') as unknown as IterableIterator<string>;
  }
  declare [Symbol.iterator]: () => IterableIterator<[string, string]>;

  toString(): string {
    return toUrlencoded(this.#list);
  }

  #find(key: string): number {
    for (let at = 0; at < this.#list.length; at += 2) if (this.#list[at] === key) return at;
    return -1;
  }

  #keep(wanted: (at: number) => boolean, start: number): void {
    const list = this.#list;
    let to = start;
    for (let at = start; at < list.length; at += 2) {
      if (!wanted(at)) continue;
      list[to] = list[at]!;
      list[to + 1] = list[at + 1]!;
      to += 2;
    }
    list.length = to;
  }

  #tell(): void {
    this.#changed?.(toUrlencoded(this.#list));
  }

  static {
    isUrlSearchParams = (value): value is URLSearchParams =>
      typeof value === 'object' && value !== null && #list in value;
    listOf = (params) => params.#list;
    createUrlParams = (query, changed) => {
      const params = new URLSearchParams(internal);
      params.#list = parseUrlencoded(query);
      params.#changed = changed;
      return params;
    };
    replaceParams = (params, query) => {
      params.#list = parseUrlencoded(query);
    };
  }
}
finishInterface(URLSearchParams);
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
});

function listFromInit(init: object): string[] {
  const list: string[] = [];
  const iterator = (init as Partial<Iterable<unknown>>)[Symbol.iterator];
  if (iterator === undefined || iterator === null) {
    const seen = new Map<string, string>();
    for (const key of Reflect.ownKeys(init)) {
      if (!Object.prototype.propertyIsEnumerable.call(init, key)) continue;
      if (typeof key === 'symbol') throw new TypeError('A parameter name cannot be a symbol');
      seen.set(toUsvString(key), toUsvString((init as Record<string, unknown>)[key]));
    }
    for (const [key, value] of seen) list.push(key, value);
    return list;
  }
  if (typeof iterator !== 'function') throw new TypeError('The parameters are not iterable');
  if (isUrlSearchParams(init) && iterator === URLSearchParams.prototype.entries) return listOf(init).slice();
  for (const pair of { [Symbol.iterator]: () => iterator.call(init as Iterable<unknown>) }) {
    if (typeof pair !== 'object' || pair === null || !(Symbol.iterator in pair))
      throw new TypeError('A parameter must be a pair of name and value');
    const items = [...(pair as Iterable<unknown>)];
    if (items.length !== 2) throw new TypeError('A parameter must be a pair of name and value');
    list.push(toUsvString(items[0]), toUsvString(items[1]));
  }
  return list;
}

class ParamsIterator {
  readonly #params: URLSearchParams;
  readonly #kind: 'entries' | 'keys' | 'values';
  #at = 0;
  constructor(params: URLSearchParams, kind: 'entries' | 'keys' | 'values') {
    listOf(params);
    this.#params = params;
    this.#kind = kind;
  }
  next(): IteratorResult<unknown> {
    const list = listOf(this.#params);
    const at = this.#at;
    if (at >= list.length) return { value: undefined, done: true };
    this.#at = at + 2;
    return {
      value: this.#kind === 'keys' ? list[at] : this.#kind === 'values' ? list[at + 1] : [list[at], list[at + 1]],
      done: false,
    };
  }
}
finishIterator(ParamsIterator, 'URLSearchParams');

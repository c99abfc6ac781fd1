// Encodes values for a store as JSON and decodes them. JSON values are unchanged; all other values that structuredClone
// can copy become a list of records. Used by bindings that store values (workflows, queues). lazy.ts loads this module
// when it is first used.
import { provideModule, useModule } from '../modules.ts';
import { atob, btoa } from '../web/base64.ts';
import { fromUnits } from '../web/utf8.ts';
import { DOMException } from '../web/dom-exception.ts';
import { isBlob } from '../web/blob.ts';

/**
 * Key that marks the encoding; its value is the version. If an object of a worker has this key, it is stored as
 * records, too.
 */
const MARK = '$structured';
const VERSION = 1;
/** More deeply nested values become records, whose encoding does not recurse into known objects. */
const DEPTH_MAX = 200;

/**
 * One value of a graph, which refers to others by index. Texts, finite numbers, booleans and null represent
 * themselves.
 */
type Record_ = string | number | boolean | null | readonly [kind: string, ...rest: unknown[]];

/**
 * A JSON value from which {@link fromStored} creates an equal value.
 *
 * @throws {DOMException} DataCloneError for a function, a symbol, or an object that cannot be copied.
 * @example toStored({ at: 1 }); // { at: 1 } toStored(new Date(0)); // { $structured: 1, records: [['date', 0]] }
 */
export function toStored(value: unknown): unknown {
  if (isJson(value, 0)) return value;
  const encoder = new Encoder();
  encoder.add(useModule('messages').structuredClone(value));
  return { [MARK]: VERSION, records: encoder.records };
}

/**
 * Decodes a stored value.
 *
 * @throws {Error} for an encoding of a newer version.
 */
export function fromStored(stored: unknown): unknown {
  if (typeof stored !== 'object' || stored === null || !Object.hasOwn(stored, MARK)) return stored;
  const { [MARK]: version, records } = stored as { [MARK]: unknown; records: readonly Record_[] };
  if (version !== VERSION || !Array.isArray(records))
    throw new Error(`A stored value has form ${String(version)}; this version reads form ${VERSION}`);
  return new Decoder(records).at(0);
}

/** Whether JSON reproduces an equal value: no `toJSON`, and no object referenced twice. */
function isJson(value: unknown, depth: number, seen = new Set<object>()): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > DEPTH_MAX || seen.has(value)) return false;
  seen.add(value);
  if (Array.isArray(value)) {
    const keys = Object.keys(value);
    // This excludes lists with holes and additional properties.
    const isDense = keys.length === value.length && (keys.length === 0 || keys.at(-1) === String(keys.length - 1));
    if (!isDense || Object.getPrototypeOf(value) !== Array.prototype) return false;
    return value.every((item) => isJson(item, depth + 1, seen));
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || Symbol.toStringTag in value) return false;
  for (const [key, { value: item, get }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    if (get !== undefined || key === MARK || key === '__proto__' || key === 'toJSON') return false;
    if (!isJson(item, depth + 1, seen)) return false;
  }
  return true;
}

/** Encodes the result of structuredClone, which has no getters, no proxies, and only built-in classes. */
class Encoder {
  readonly records: Record_[] = [];
  readonly #known = new Map<unknown, number>();

  /** The index of a value's record. */
  add(value: unknown): number {
    const simple = typeof value !== 'object' || value === null;
    const known = simple ? undefined : this.#known.get(value);
    if (known !== undefined) return known;
    const index = this.records.length;
    if (!simple) this.#known.set(value, index);
    this.records.push(null);
    this.records[index] = simple ? primitive(value) : this.#object(value);
    return index;
  }

  #object(value: object): Record_ {
    const kind = Object.prototype.toString.call(value).slice(8, -1);
    if (ArrayBuffer.isView(value)) {
      const length = value instanceof DataView ? value.byteLength : (value as Uint8Array).length;
      return ['view', kind, this.add(value.buffer), value.byteOffset, length];
    }
    switch (kind) {
      case 'Array':
        return ['array', (value as unknown[]).length, this.#entries(value)];
      case 'Date': {
        const ms = (value as Date).getTime();
        return ['date', Number.isNaN(ms) ? null : ms];
      }
      case 'RegExp':
        return ['regexp', (value as RegExp).source, (value as RegExp).flags];
      case 'Map':
        return ['map', this.#pairs(value as Map<unknown, unknown>)];
      case 'Set':
        return ['set', Array.from(value as Set<unknown>, (item) => this.add(item))];
      case 'Error':
        return this.#error(value as Error);
      case 'ArrayBuffer':
        return this.#buffer(new Uint8Array(value as ArrayBuffer));
      case 'Boolean':
      case 'Number':
      case 'String':
      case 'BigInt':
        return ['boxed', this.add((value as { valueOf(): unknown }).valueOf())];
    }
    if (kind !== 'Object' || isBlob(value)) throw new DOMException(`A ${kind} cannot be stored`, 'DataCloneError');
    return ['object', this.#entries(value)];
  }

  #buffer(bytes: Uint8Array): Record_ {
    return ['buffer', btoa(fromUnits(bytes, bytes.length))];
  }

  #pairs(map: ReadonlyMap<unknown, unknown>): number[] {
    const pairs: number[] = [];
    for (const [key, item] of map) pairs.push(this.add(key), this.add(item));
    return pairs;
  }

  #entries(value: object): (string | number)[] {
    return Object.entries(value).flatMap(([key, item]) => [key, this.add(item)]);
  }

  #error(value: Error): Record_ {
    const cause = Object.hasOwn(value, 'cause') ? [this.add(value.cause)] : [];
    return ['error', value.name, value.message, value.stack ?? null, ...cause];
  }
}

function primitive(value: unknown): Record_ {
  switch (typeof value) {
    case 'undefined':
      return ['undefined'];
    case 'bigint':
      return ['bigint', String(value)];
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : ['number', Object.is(value, -0) ? '-0' : String(value)];
    default:
      return value as string | boolean | null;
  }
}

/** Creates values from records; a cyclic reference finds the object being created. */
class Decoder {
  readonly #records: readonly Record_[];
  readonly #made = new Map<number, unknown>();

  constructor(records: readonly Record_[]) {
    this.#records = records;
  }

  at(index: number): unknown {
    if (this.#made.has(index)) return this.#made.get(index);
    const record = this.#records[index];
    return Array.isArray(record) ? this.#make(index, record as readonly [string, ...unknown[]]) : record;
  }

  #keep<Made>(index: number, made: Made): Made {
    this.#made.set(index, made);
    return made;
  }

  #make(index: number, [kind, ...rest]: readonly [string, ...unknown[]]): unknown {
    switch (kind) {
      case 'undefined':
        return undefined;
      case 'bigint':
        return BigInt(rest[0] as string);
      case 'number':
        return Number(rest[0]);
      case 'object':
        return this.#fill(this.#keep(index, {}), rest[0] as readonly (string | number)[]);
      case 'array': {
        const made: unknown[] = [];
        made.length = rest[0] as number;
        return this.#fill(this.#keep(index, made), rest[1] as readonly (string | number)[]);
      }
      case 'date':
        return this.#keep(index, new Date((rest[0] as number | null) ?? Number.NaN));
      case 'regexp':
        return this.#keep(index, new RegExp(rest[0] as string, rest[1] as string));
      case 'map': {
        const made = this.#keep(index, new Map<unknown, unknown>());
        const pairs = rest[0] as readonly number[];
        for (let at = 0; at < pairs.length; at += 2) made.set(this.at(pairs[at]!), this.at(pairs[at + 1]!));
        return made;
      }
      case 'set': {
        const made = this.#keep(index, new Set<unknown>());
        for (const item of rest[0] as readonly number[]) made.add(this.at(item));
        return made;
      }
      case 'error':
        return this.#error(index, rest);
      case 'buffer':
        return this.#keep(index, Uint8Array.from(atob(rest[0] as string), (char) => char.charCodeAt(0)).buffer);
      case 'view': {
        const [name, buffer, offset, length] = rest as [string, number, number, number];
        const constructor = (globalThis as unknown as Record<string, new (...of: unknown[]) => object>)[name]!;
        return this.#keep(index, new constructor(this.at(buffer), offset, length));
      }
      case 'boxed':
        return this.#keep(index, Object(this.at(rest[0] as number)) as object);
      default:
        throw new Error(`A stored value has a record of kind ${kind}`);
    }
  }

  #fill<Made extends object>(made: Made, entries: readonly (string | number)[]): Made {
    for (let at = 0; at < entries.length; at += 2)
      Object.defineProperty(made, entries[at] as string, {
        value: this.at(entries[at + 1] as number),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    return made;
  }

  #error(index: number, [name, message, stack, cause]: readonly unknown[]): Error {
    const made = this.#keep(index, new Error(message as string));
    const known = (globalThis as unknown as Record<string, { prototype?: object } | undefined>)[name as string];
    if (/^(?:Eval|Range|Reference|Syntax|Type|URI)Error$/.test(name as string) && known?.prototype !== undefined)
      Object.setPrototypeOf(made, known.prototype);
    if (typeof stack === 'string') define(made, 'stack', stack);
    if (cause !== undefined) define(made, 'cause', this.at(cause as number));
    return made;
  }
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false });
}

declare module '../modules.ts' {
  interface Modules {
    'stored-values': { readonly fromStored: typeof fromStored; readonly toStored: typeof toStored };
  }
}

provideModule('stored-values', { fromStored, toStored });

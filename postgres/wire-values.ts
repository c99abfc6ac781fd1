// Values on Postgres's wire, in its binary format where that is cheaper than text: parameters into a growing buffer, columns out of
// one. Used by wire-connection.ts alone; what it does not know travels as text.

/** What a statement takes: an array goes where the statement wants one (`$1::text[]`). */
export type WireValue = string | number | boolean | null | Uint8Array | readonly (string | number | boolean | null | Uint8Array)[];

/** A row by the names of its columns. */
export type WireRow = Readonly<Record<string, unknown>>;

/** A column of a result. */
export interface WireColumn {
  readonly name: string;
  readonly type: number;
}

const bool = 16;
const bytea = 17;
const int8 = 20;
const int2 = 21;
const int4 = 23;
const text = 25;
const json = 114;
const float4 = 700;
const float8 = 701;
const varchar = 1043;
const name = 19;
const oid = 26;
const bpchar = 1042;
const jsonb = 3802;

/** Types of columns that are read in binary. */
const binary = new Set([bool, bytea, int8, int2, int4, text, json, float4, float8, varchar, name, oid, bpchar, jsonb]);
/** Element types of the arrays that parameters may be. */
const elements: Readonly<Record<number, number>> = {
  1000: bool,
  1001: bytea,
  1005: int2,
  1007: int4,
  1009: text,
  1015: varchar,
  1016: int8,
};
const two32 = 2 ** 32;

/** 1 when columns of a type are asked for in binary, else 0. */
export function formatOf(type: number): 0 | 1 {
  return binary.has(type) ? 1 : 0;
}

/** The value of a column; the bytes are copied, since the buffer is used again. */
export function readColumn(buffer: Buffer, type: number, start: number, end: number): unknown {
  switch (type) {
    case text:
    case varchar:
    case name:
    case bpchar:
      return buffer.toString('utf8', start, end);
    case int8:
      return buffer.readInt32BE(start) * two32 + buffer.readUInt32BE(start + 4);
    case int4:
      return buffer.readInt32BE(start);
    case int2:
      return buffer.readInt16BE(start);
    case oid:
      return buffer.readUInt32BE(start);
    case bool:
      return buffer[start] === 1;
    case bytea:
      return Buffer.from(buffer.subarray(start, end));
    case float8:
      return buffer.readDoubleBE(start);
    case float4:
      return buffer.readFloatBE(start);
    case json:
      return JSON.parse(buffer.toString('utf8', start, end)) as unknown;
    case jsonb:
      // A byte of its version goes before it.
      return JSON.parse(buffer.toString('utf8', start + 1, end)) as unknown;
    default:
      return buffer.toString('utf8', start, end);
  }
}

const leastBytes = 8 * 1024;
/** A buffer that has grown beyond this is not kept. */
const keptBytes = 256 * 1024;
/** Beyond, the length of a text is counted before it is written, rather than supposed to be the most it can be. */
const countedChars = 1024;

/** Messages to the server, one behind the other. */
export class WireWriter {
  #buffer = Buffer.allocUnsafeSlow(leastBytes);
  #at = 0;
  #message = 0;

  /** Begins a message; `letter` 0 for the ones without. */
  begin(letter: number): this {
    this.#room(5);
    if (letter !== 0) this.#buffer[this.#at++] = letter;
    this.#message = this.#at;
    this.#at += 4;
    return this;
  }

  end(): this {
    this.#buffer.writeInt32BE(this.#at - this.#message, this.#message);
    return this;
  }

  int16(value: number): this {
    this.#room(2);
    this.#at = this.#buffer.writeInt16BE(value, this.#at);
    return this;
  }

  int32(value: number): this {
    this.#room(4);
    this.#at = this.#buffer.writeInt32BE(value, this.#at);
    return this;
  }

  /** A text that ends with NUL. */
  cstring(value: string): this {
    this.#room(value.length * 3 + 1);
    this.#at += this.#buffer.write(value, this.#at);
    this.#buffer[this.#at++] = 0;
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#room(bytes.byteLength);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.byteLength;
    return this;
  }

  /** 1 when a parameter is written in binary, else 0. */
  formatOf(value: WireValue, type: number): 0 | 1 {
    if (typeof value === 'number') return Number.isSafeInteger(value) && isWhole(value, type) ? 1 : 0;
    if (typeof value === 'boolean') return type === bool ? 1 : 0;
    return typeof value === 'object' && value !== null ? 1 : 0;
  }

  /** A parameter with its length before it. @throws {TypeError} for what cannot be one. */
  value(value: WireValue, type: number): this {
    if (value === null) return this.int32(-1);
    if (Array.isArray(value)) return this.#array(value, type);
    return this.#single(value as Exclude<WireValue, null | readonly unknown[]>, type);
  }

  #single(value: string | number | boolean | Uint8Array, type: number): this {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number') {
      if (!Number.isSafeInteger(value) || !isWhole(value, type)) return this.#text(String(value));
      if (type === int8)
        return this.int32(8)
          .int32(Math.floor(value / two32))
          .int32(value | 0);
      return type === int4 ? this.int32(4).int32(value) : this.int32(2).int16(value);
    }
    if (typeof value === 'boolean') {
      if (type !== bool) return this.#text(String(value));
      this.int32(1).#room(1);
      this.#buffer[this.#at++] = value ? 1 : 0;
      return this;
    }
    if (!(value instanceof Uint8Array)) throw new TypeError(`A parameter of a statement cannot be of type ${typeof value}`);
    return this.int32(value.byteLength).raw(value);
  }

  #text(value: string): this {
    this.#room(4 + (value.length > countedChars ? Buffer.byteLength(value) : value.length * 3));
    const bytes = this.#buffer.write(value, this.#at + 4);
    this.#buffer.writeInt32BE(bytes, this.#at);
    this.#at += 4 + bytes;
    return this;
  }

  #array(list: readonly (string | number | boolean | null | Uint8Array)[], type: number): this {
    const element = elements[type];
    if (element === undefined) throw new TypeError(`A parameter of type ${type} cannot be an array`);
    this.int32(0);
    const start = this.#at;
    this.int32(list.length === 0 ? 0 : 1)
      .int32(list.includes(null) ? 1 : 0)
      .int32(element);
    if (list.length > 0) this.int32(list.length).int32(1);
    for (const value of list) {
      if (value === null) this.int32(-1);
      else if (this.formatOf(value, element) === 0 && typeof value !== 'string')
        throw new TypeError(`${String(value)} cannot be an element of an array of type ${type}`);
      else this.#single(value, element);
    }
    this.#buffer.writeInt32BE(this.#at - start, start - 4);
    return this;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.byteLength) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.byteLength * 2, this.#at + bytes));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }

  /** What was written since the last time. It holds until the next `begin`. */
  take(): Buffer {
    const written = this.#buffer.subarray(0, this.#at);
    this.#at = 0;
    if (this.#buffer.byteLength > keptBytes) this.#buffer = Buffer.allocUnsafeSlow(leastBytes);
    return written;
  }
}

function isWhole(value: number, type: number): boolean {
  if (type === int8) return true;
  if (type === int4) return value >= -(2 ** 31) && value < 2 ** 31;
  return type === int2 && value >= -(2 ** 15) && value < 2 ** 15;
}

// `ctx.storage.sql` of a durable object: runs statements while the caller waits, and returns a cursor over their rows.
import { atob, btoa } from '../../web/base64.ts';
import { fromUnits } from '../../web/utf8.ts';
import type { StorageQueue } from './storage-queue.ts';

type Value = null | number | string | ArrayBuffer;

/** As core/database-request.ts. */
type WireValue = null | number | string | { readonly b?: string; readonly i?: string; readonly n?: string };

interface Rows {
  /** Columns. */
  readonly c: readonly string[];
  readonly r: readonly (readonly WireValue[])[];
  /** Rows written. */
  readonly w: number;
}

function toWire(value: unknown): WireValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? value : { n: Object.is(value, -0) ? '-0' : String(value) };
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (ArrayBuffer.isView(value)) return toBlob(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  if (value instanceof ArrayBuffer) return toBlob(new Uint8Array(value));
  throw new TypeError('A value of a statement must be a string, a number, an ArrayBuffer or null');
}

function toBlob(bytes: Uint8Array): WireValue {
  return { b: btoa(fromUnits(bytes, bytes.length)) };
}

function fromWire(value: WireValue): Value {
  if (value === null || typeof value !== 'object') return value;
  if (value.b !== undefined) return Uint8Array.from(atob(value.b), (char) => char.charCodeAt(0)).buffer;
  return Number(value.i ?? value.n);
}

class SqlStorageCursor {
  readonly #rows: Rows;
  #at = 0;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get columnNames(): string[] {
    return [...this.#rows.c];
  }

  get rowsRead(): number {
    return Math.max(this.#at, this.#rows.r.length);
  }

  get rowsWritten(): number {
    return this.#rows.w;
  }

  #next(): Value[] | undefined {
    return this.#rows.r[this.#at++]?.map(fromWire);
  }

  #object(row: readonly Value[]): Record<string, Value> {
    const object: Record<string, Value> = {};
    this.#rows.c.forEach((name, index) => {
      Object.defineProperty(object, name, {
        value: row[index],
        enumerable: true,
        configurable: true,
        writable: true,
      });
    });
    return object;
  }

  next(): { done?: boolean; value?: Record<string, Value> } {
    const row = this.#next();
    return row === undefined ? { done: true } : { done: false, value: this.#object(row) };
  }

  toArray(): Record<string, Value>[] {
    return [...this];
  }

  one(): Record<string, Value> {
    const rows = this.toArray();
    if (rows.length === 0) throw new Error('Expected exactly one result from SQL query, but got no results.');
    if (rows.length > 1) throw new Error('Expected exactly one result from SQL query, but got multiple results.');
    return rows[0]!;
  }

  *raw(): IterableIterator<Value[]> {
    for (let row = this.#next(); row !== undefined; row = this.#next()) yield row;
  }

  *[Symbol.iterator](): IterableIterator<Record<string, Value>> {
    for (let row = this.#next(); row !== undefined; row = this.#next()) yield this.#object(row);
  }
}

class SqlStorageStatement {}

export class SqlStorage {
  readonly #queue: StorageQueue;
  readonly Cursor = SqlStorageCursor;
  readonly Statement = SqlStorageStatement;

  constructor(queue: StorageQueue) {
    this.#queue = queue;
  }

  exec(query: unknown, ...values: readonly unknown[]): SqlStorageCursor {
    if (/^[\s;]*$/.test(String(query))) throw new Error('SQL code did not contain a statement.');
    // Writes belong to the open transaction.
    return new SqlStorageCursor(this.#queue.now(['q', String(query), values.map(toWire)], false) as Rows);
  }

  get databaseSize(): number {
    return this.#queue.now(['z'], false) as number;
  }
}

// Converts operations, values and results of the db binding between JavaScript and the JSON of
// core/database-request.ts.
import type { LazyDeps } from '../../lazy.ts';
import { typeError } from './errors.ts';

// As in core/database-request.ts.
export const ops = { query: 1, batch: 2, exec: 3, dump: 4, begin: 5, commit: 6, rollback: 7 } as const;

export type WireValue = null | number | string | { b?: string; i?: string; n?: string };

export interface WireResult {
  readonly c: readonly string[];
  readonly r: WireValue[][];
  readonly m: readonly [number, number, number, number, WireValue, 0 | 1, number, number, number];
}

interface Meta {
  readonly served_by: string;
  readonly duration: number;
  readonly changes: number;
  readonly last_row_id: number | bigint;
  readonly changed_db: boolean;
  readonly size_after: number;
  readonly rows_read: number;
  readonly rows_written: number;
}

export interface Result {
  readonly success: true;
  readonly meta: Meta;
  readonly results: Record<string, unknown>[];
}

interface Wire {
  toWire(value: unknown): WireValue;
  toRows(result: WireResult): unknown[][];
  toObjects(result: WireResult): Record<string, unknown>[];
  toResult(result: WireResult): Result;
}

export function createWire({
  atob,
  btoa,
  isAnyArrayBuffer,
}: Pick<LazyDeps, 'atob' | 'btoa' | 'isAnyArrayBuffer'>): Wire {
  const { fromCharCode } = String;
  const { is } = Object;

  function toWire(value: unknown): WireValue {
    switch (typeof value) {
      case 'string':
        return value;
      case 'number':
        return value - value === 0 && !is(value, -0) ? value : { n: is(value, -0) ? '-0' : `${value}` };
      case 'boolean':
        return value ? 1 : 0;
      case 'bigint':
        if (BigInt.asIntN(64, value) !== value) break;
        return { i: `${value}` };
      case 'object':
        if (value === null) return null;
        if (isAnyArrayBuffer(value)) return { b: toBase64(new Uint8Array(value as ArrayBuffer)) };
        if (ArrayBuffer.isView(value))
          return { b: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
        if (Array.isArray(value) && value.every((item) => typeof item === 'number' && item >= 0 && item < 256)) {
          return { b: toBase64(Uint8Array.from(value as number[])) };
        }
    }
    throw typeError(value);
  }

  function toBase64(bytes: Uint8Array): string {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192) text += fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
  }

  /** Decodes values that JSON cannot represent; blobs are arrays of numbers, as in D1. */
  function fromWire(value: { b?: string; i?: string; n?: string }): unknown {
    if (value.i !== undefined) return BigInt(value.i);
    if (value.n !== undefined) return Number(value.n);
    const text = atob(value.b as string);
    const bytes: number[] = [];
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return bytes;
  }

  function toRows(result: WireResult): unknown[][] {
    const rows = result.r as unknown[][];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as unknown[];
      for (let column = 0; column < row.length; column++) {
        const value = row[column];
        if (typeof value === 'object' && value !== null) row[column] = fromWire(value);
      }
    }
    return rows;
  }

  function toObjects(result: WireResult): Record<string, unknown>[] {
    const { c: columns } = result;
    const rows = toRows(result);
    const objects: Record<string, unknown>[] = [];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as unknown[];
      const object: Record<string, unknown> = {};
      for (let column = 0; column < columns.length; column++) {
        const name = columns[column] as string;
        if (name === '__proto__')
          Object.defineProperty(object, name, {
            value: row[column],
            enumerable: true,
            configurable: true,
            writable: true,
          });
        else object[name] = row[column];
      }
      objects[index] = object;
    }
    return objects;
  }

  function toMeta({ m }: WireResult): Meta {
    return {
      served_by: `shard-${m[8]}`,
      duration: m[0],
      changes: m[3],
      last_row_id: typeof m[4] === 'object' ? (fromWire(m[4] as { i: string }) as bigint) : (m[4] as number),
      changed_db: m[5] === 1,
      size_after: m[6],
      rows_read: m[1],
      rows_written: m[2],
    };
  }

  function toResult(result: WireResult): Result {
    return { success: true, meta: toMeta(result), results: toObjects(result) };
  }

  return { toWire, toRows, toObjects, toResult };
}

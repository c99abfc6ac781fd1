// The protocol of a libSQL cloud: Hrana over HTTP, `POST /v2/pipeline`. Converts values, results and errors between the
// protocol and core/database-request.ts. Called by database-cloud.ts and database-cloud-streams.ts; sends nothing
// itself. Pure.
import { SqlRefusal, toWire, type StoredValue, type WireValue } from '#core/database-request.ts';

/** A value of the protocol. */
export type HranaValue =
  | { readonly type: 'null' }
  | { readonly type: 'integer'; readonly value: string }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'blob'; readonly base64: string };

export interface HranaStatement {
  readonly sql: string;
  readonly args: readonly HranaValue[];
  readonly want_rows: boolean;
}

/** Condition for a step of a batch; `step` is the number of an earlier step. */
type HranaCondition =
  | { readonly type: 'ok' | 'error'; readonly step: number }
  | { readonly type: 'not'; readonly cond: HranaCondition };

export interface HranaStep {
  readonly stmt: HranaStatement;
  readonly condition?: HranaCondition;
}

export type HranaRequest =
  | { readonly type: 'execute'; readonly stmt: HranaStatement }
  | { readonly type: 'batch'; readonly batch: { readonly steps: readonly HranaStep[] } }
  | { readonly type: 'close' };

export interface HranaResult {
  readonly cols: readonly { readonly name: string | null }[];
  readonly rows: readonly (readonly HranaValue[])[];
  readonly affected_row_count: number;
  readonly last_insert_rowid: string | null;
  readonly rows_read?: number;
  readonly rows_written?: number;
  readonly query_duration_ms?: number;
}

export interface HranaError {
  readonly message: string;
  readonly code?: string | null;
}

export interface HranaBatchResult {
  readonly step_results: readonly (HranaResult | null)[];
  readonly step_errors: readonly (HranaError | null)[];
}

/** The server's response to a pipeline. */
export interface HranaAnswer {
  readonly baton: string | null;
  readonly base_url: string | null;
  readonly results: readonly (
    | { readonly type: 'ok'; readonly response: { readonly type: string; readonly result?: unknown } }
    | { readonly type: 'error'; readonly error: HranaError }
  )[];
}

/** @throws {SqlRefusal} for infinities, which JSON cannot represent. */
export function toHrana(value: StoredValue): HranaValue {
  switch (typeof value) {
    case 'string':
      return { type: 'text', value };
    case 'number':
      if (Number.isNaN(value)) return { type: 'null' };
      if (!Number.isFinite(value))
        throw new SqlRefusal('SQLITE_MISMATCH', 'the database cloud does not support infinite numbers');
      return { type: 'float', value };
    case 'bigint':
      return { type: 'integer', value: String(value) };
    default:
      return value === null ? { type: 'null' } : { type: 'blob', base64: Buffer.from(value).toString('base64') };
  }
}

export function fromHrana(value: HranaValue): WireValue {
  switch (value.type) {
    case 'integer':
      return toWire(BigInt(value.value));
    case 'float':
      return toWire(value.value);
    case 'text':
      return value.value;
    case 'blob':
      // The padding is added, because servers omit it.
      return { b: Buffer.from(value.base64, 'base64').toString('base64') };
    default:
      return null;
  }
}

/** Converts a result for a worker's binding. `version` orders states; the cloud does not report sizes. */
export function resultJson(result: HranaResult, version: number, elapsedMs: number): string {
  const columns = result.cols.map(({ name }) => name ?? '');
  const rows = result.rows.map((row) => row.map(fromHrana));
  const changes = result.affected_row_count;
  const last = changes > 0 && result.last_insert_rowid !== null ? toWire(BigInt(result.last_insert_rowid)) : 0;
  const duration = result.query_duration_ms ?? elapsedMs;
  const read = result.rows_read ?? rows.length;
  const written = result.rows_written ?? changes;
  const meta = [Math.round(duration * 1000) / 1000, read, written, changes, last, changes > 0 ? 1 : 0, 0, version, 0];
  return JSON.stringify({ c: columns, r: rows, m: meta });
}

/** Converts an error of the server to a refusal; the prefix before SQLite's message is removed. */
export function toHranaRefusal({ message, code }: HranaError): SqlRefusal {
  const text = message
    .replace(/^(?:SQLite (?:input )?error|SQLite failure|SQL string could not be parsed): /i, '')
    .replace(/^`(.*)`$/s, '$1');
  if (typeof code === 'string' && /^SQLITE_[A-Z_]+$/.test(code)) return new SqlRefusal(code, text);
  return new SqlRefusal('SQLITE_ERROR', text);
}

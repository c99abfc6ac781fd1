// `Idempotency-Key`: a request that changes something runs once per key; repeated requests get the stored response.
// Responses are stored encrypted, since some contain a secret.
import { createHash } from 'node:crypto';
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../../http/errors.ts';

const KEY_CHARS_MAX = 200;
/** A first request still open after this time belonged to a process that died. */
const STALE = '5 minutes';
const ANSWER_CHARS_MAX = 1024 * 1024;

interface Row {
  readonly request: Buffer;
  readonly status: number | null;
  readonly headers: Record<string, string> | null;
  readonly body: string | null;
}

/** A request with an idempotency key. */
interface Keyed {
  /** Keys are scoped to the caller. */
  readonly actor: string;
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly request: Buffer;
}

/** The idempotency key of a request, or null. @throws {ApiError} for an invalid key. */
export function idempotencyKey(headers: Headers): string | null {
  const key = headers.get('idempotency-key');
  if (key === null) return null;
  if (key.length > KEY_CHARS_MAX || !/^[\x21-\x7e]+$/.test(key))
    throw new ApiError('bad_request', {
      reason: `Idempotency-Key must have 1 to ${KEY_CHARS_MAX} printable characters without spaces`,
    });
  return key;
}

/** Identifies the content of a request. @param body the raw body. */
export function fingerprint(method: string, address: string, body: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([method, address, body]))
    .digest();
}

/**
 * Runs a request once per key, or repeats the stored response.
 *
 * @throws {ApiError} `idempotency_mismatch` if the key was used for another request, `idempotency_running` while the
 * first request runs.
 */
export async function answerOnce(
  { sql, keys }: { readonly sql: Sql; readonly keys: EncryptionKeys },
  { actor, key, request }: Keyed,
  run: () => Promise<Response>,
): Promise<Response> {
  const context = `idempotency:${actor}:${key}`;
  const [mine] = await sql`
    INSERT INTO control.idempotency AS known (actor, key, request) VALUES (${actor}, ${key}, ${request})
    ON CONFLICT (actor, key) DO UPDATE SET created_at = now()
      WHERE known.status IS NULL AND known.request = excluded.request AND known.created_at < now() - ${STALE}::interval
    RETURNING 1`;
  if (mine === undefined) {
    const [known] = await sql<Row[]>`
      SELECT request, status, headers, body FROM control.idempotency WHERE actor = ${actor} AND key = ${key}`;
    if (known === undefined) throw new ApiError('idempotency_running', {}, { 'retry-after': '1' });
    if (!known.request.equals(request)) throw new ApiError('idempotency_mismatch');
    if (known.status === null) throw new ApiError('idempotency_running', {}, { 'retry-after': '1' });
    const text = known.body === null ? null : unseal(keys, Buffer.from(known.body, 'base64'), context);
    return new Response(text, {
      status: known.status,
      headers: { ...known.headers, 'idempotency-replayed': 'true' },
    });
  }
  const forget = (): Promise<unknown> => sql`DELETE FROM control.idempotency WHERE actor = ${actor} AND key = ${key}`;
  let response: Response;
  try {
    response = await run();
  } catch (error) {
    await forget();
    throw error;
  }
  const type = response.headers.get('content-type') ?? '';
  // Server errors and rate-limited requests may be retried. Streams cannot be stored.
  if (response.status >= 500 || response.status === 429 || (response.body !== null && !type.includes('json'))) {
    await forget();
    return response;
  }
  const text = response.body === null ? null : await response.text();
  if (text !== null && text.length > ANSWER_CHARS_MAX) await forget();
  else {
    const sealed = text === null ? null : seal(keys, text, context).toString('base64');
    await sql`
      UPDATE control.idempotency
      SET status = ${response.status}, body = ${sealed}, headers = ${sql.json(type === '' ? {} : { 'content-type': type })}
      WHERE actor = ${actor} AND key = ${key}`;
  }
  return new Response(text, { status: response.status, headers: response.headers });
}

/** Deletes expired responses. */
export async function sweepIdempotency(sql: Sql, keepMs: number): Promise<void> {
  await sql`DELETE FROM control.idempotency WHERE created_at < now() - make_interval(secs => ${keepMs / 1000})`;
}

// Receives a delivery of the Git host: limits its size, checks the signature over the raw bytes, and stores each one
// once. The response is sent once it is stored; deliveries.ts processes it later, also after a restart.
import { createHash, createHmac, timingSafeEqual, type Hash, type Hmac } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { ApiError } from '../http/errors.ts';
import { readDelivery, subjectOf, type Delivery } from './delivery.ts';

/** Result: `accepted`, `ignored` (nothing to do), or `replayed` (received before). */
type Received = 'accepted' | 'ignored' | 'replayed';

/** Larger bodies are not read to the end; the host sends none. */
const BODY_BYTES_MAX = 25_000_000;
/** Larger bodies are not kept in memory: only their signature is checked. */
const PARSED_BYTES_MAX = 5_000_000;
const RECEIVE_MS = 20_000;
/** Two deliveries within this time may have the same content. */
const ALIKE_MS = 5000;

/**
 * Receives one delivery.
 *
 * @throws {ApiError} `unavailable` without a secret, `unauthorized` for an invalid signature, `payload_too_large`,
 *   `bad_request`.
 */
export async function receiveDelivery(deps: Pick<Dependencies, 'sql' | 'git'>, request: Request): Promise<Received> {
  const secret = deps.git.webhookSecret;
  if (secret === null)
    throw new ApiError('unavailable', {
      reason: 'Webhooks of the Git host are not enabled: set GITHOST_WEBHOOK_SECRET',
    });
  const [type] = (request.headers.get('content-type') ?? '').split(';');
  if (type!.trim().toLowerCase() !== 'application/json')
    throw new ApiError('bad_request', { reason: 'The content type must be application/json' });
  const event = headerOf(request, 'x-github-event', /^[a-z_]{1,64}$/);
  const deliveryId = headerOf(request, 'x-github-delivery', /^[\w-]{8,100}$/);
  const signature = /^sha256=([0-9a-f]{64})$/.exec(request.headers.get('x-hub-signature-256') ?? '')?.[1];
  if (signature === undefined) throw new ApiError('signature_invalid');
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX);

  const hmac = createHmac('sha256', secret);
  const hash = createHash('sha256');
  const bytes = await readLimited(request, [hmac, hash]);
  if (!timingSafeEqual(hmac.digest(), Buffer.from(signature, 'hex'))) throw new ApiError('signature_invalid');
  if (bytes === null) throw tooLarge(PARSED_BYTES_MAX);
  return storeDelivery(deps.sql, { deliveryId, event, bodyHash: hash.digest() }, parse(event, bytes));
}

function headerOf(request: Request, name: string, pattern: RegExp): string {
  const value = request.headers.get(name) ?? '';
  if (pattern.test(value)) return value;
  throw new ApiError('bad_request', { reason: `The header ${name} is missing or invalid` });
}

function tooLarge(allowed: number): ApiError {
  return new ApiError('payload_too_large', { allowed });
}

/** Reads the body and updates the digests; null if it is too large to keep. */
async function readLimited(request: Request, digests: readonly (Hmac | Hash)[]): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  const timer = setTimeout(() => void reader?.cancel().catch(() => {}), RECEIVE_MS);
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.byteLength;
      if (bytes > BODY_BYTES_MAX) {
        void reader.cancel().catch(() => {});
        throw tooLarge(BODY_BYTES_MAX);
      }
      for (const digest of digests) digest.update(value);
      if (bytes <= PARSED_BYTES_MAX) chunks.push(value);
      else chunks.length = 0;
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError('bad_request', { reason: 'The body is incomplete' });
  } finally {
    clearTimeout(timer);
  }
  return bytes > PARSED_BYTES_MAX ? null : Buffer.concat(chunks);
}

/** Null: nothing to do. */
function parse(event: string, bytes: Buffer): Delivery | null {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError('bad_request', { reason: 'The body is not JSON' });
  }
  try {
    return readDelivery(event, body);
  } catch (error) {
    if (!isFailure(error, 'delivery_malformed')) throw error;
    throw new ApiError('bad_request', { reason: `The body is not a valid "${event}" event: ${error.message}` });
  }
}

/**
 * The signature covers neither the id of the delivery nor the name of its event, so a known body is refused under
 * another id or name as well. Timestamps in bodies are in seconds: two bodies are equal if the same happens twice
 * within one.
 */
async function storeDelivery(
  sql: Dependencies['sql'],
  { deliveryId, event, bodyHash }: { readonly deliveryId: string; readonly event: string; readonly bodyHash: Buffer },
  delivery: Delivery | null,
): Promise<Received> {
  const [subject, outcome] = delivery === null ? ['', 'ignored'] : [subjectOf(delivery), null];
  const stored = await sql`
    INSERT INTO control.webhook_received (delivery_id, body_hash, event, subject, details, due_at, outcome)
    SELECT ${deliveryId}, ${bodyHash}, ${event}, ${subject}, ${sql.json((delivery ?? {}) as never)},
           ${delivery === null ? sql`NULL::timestamptz` : sql`now()`}, ${outcome}
     WHERE NOT EXISTS (SELECT FROM control.webhook_received WHERE body_hash = ${bodyHash}
                        AND (received_at < now() - ${`${ALIKE_MS} ms`}::interval OR event <> ${event}))
    ON CONFLICT DO NOTHING RETURNING delivery_id`;
  if (stored.length === 0) return 'replayed';
  if (delivery === null) return 'ignored';
  await sql.notify('control_git', 'delivery');
  return 'accepted';
}

// Receives a delivery of a Git host: limits its size, checks the signature over the raw bytes, and stores each delivery
// once. The response is sent once the delivery is stored; deliveries.ts processes it later, even after a restart.
import { createHash, createHmac, timingSafeEqual, type Hash, type Hmac } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import type { TokenHostKind } from '#git/host/access.ts';
import type { Delivery } from '#git/host/delivery.ts';
import { readGithubDelivery } from '#git/host/kinds/github-delivery.ts';
import { tokenHostKinds } from '#git/host/token-hosts.ts';
import { isSame } from '../access/secrets.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { ApiError } from '../http/errors.ts';
import { subjectOf } from './delivery.ts';
import { findHost, webhookOf } from './hosts.ts';

/** Result: `accepted`, `ignored` (nothing to do), or `replayed` (received before). */
type Received = 'accepted' | 'ignored' | 'replayed';

/** Larger bodies are not read to the end, because the host never sends them. */
const BODY_BYTES_MAX = 25_000_000;
/** Larger bodies are not kept in memory: only their signature is checked. */
const PARSED_BYTES_MAX = 5_000_000;
const RECEIVE_MS = 20_000;
/** Two different deliveries within this time may have the same content. */
const ALIKE_MS = 5000;
const DELIVERY_ID = /^[\w-]{8,100}$/;

/**
 * Receives a delivery of the host of `GITHOST_URL`.
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
  needJson(request);
  const event = headerOf(request, ['x-github-event'], /^[a-z_]{1,64}$/);
  const deliveryId = headerOf(request, ['x-github-delivery'], DELIVERY_ID);
  const hash = createHash('sha256');
  const signature = { header: 'x-hub-signature-256', scheme: 'hmac', prefix: 'sha256=' } as const;
  const bytes = await readSigned(request, signature, secret, hash);
  const delivery = parse(event, bytes, readGithubDelivery);
  return storeDelivery(deps.sql, { deliveryId, event, bodyHash: hash.digest() }, delivery);
}

/**
 * Receives a delivery of a host that is used with tokens, for the repository in the URL.
 *
 * @throws {ApiError} `not_found` for an unknown host, `unauthorized` for an invalid signature, `payload_too_large`,
 *   `bad_request`.
 */
export async function receiveHosted(
  deps: Pick<Dependencies, 'sql' | 'keys' | 'addresses'>,
  request: Request,
  { gitHostId, repositoryId }: { readonly gitHostId: string; readonly repositoryId: string },
): Promise<Received> {
  const { sql } = deps;
  const host = await findHost(sql, gitHostId);
  const kind = tokenHostKinds[host.kind];
  needJson(request);
  const event = headerOf(request, [kind.event], /^[\w: ]{1,64}$/);
  const deliveryId = `${gitHostId}:${headerOf(request, kind.deliveryIds, DELIVERY_ID)}`;
  // Includes the repository, because two repositories may send equal bodies.
  const hash = createHash('sha256').update(`${gitHostId}:${repositoryId}\n`);
  const bytes = await readSigned(request, kind.signature, webhookOf(deps, host, repositoryId).secret, hash);
  const deliveries = parse(event, bytes, kind.readDeliveries);
  if (deliveries.some((delivery) => !('repositoryId' in delivery) || delivery.repositoryId !== repositoryId))
    throw new ApiError('bad_request', { reason: 'The delivery is for a different repository than its URL' });
  // Without a signature over the body, repeated bodies cannot be recognized, and hosts without signatures send equal
  // bodies for equal pushes.
  const bodyHash = kind.signature.scheme === 'hmac' ? hash.digest() : null;
  if (deliveries.length === 0) return storeDelivery(sql, { deliveryId, event, bodyHash }, null);
  const outcomes: Received[] = [];
  for (const [index, delivery] of deliveries.entries())
    outcomes.push(
      await storeDelivery(
        sql,
        index === 0
          ? { deliveryId, event: delivery.event, bodyHash }
          : { deliveryId: `${deliveryId}:${index}`, event: delivery.event, bodyHash: null },
        { ...delivery, gitHostId } as Delivery,
      ),
    );
  return outcomes.includes('accepted') ? 'accepted' : 'replayed';
}

function needJson(request: Request): void {
  const [type] = (request.headers.get('content-type') ?? '').split(';');
  if (type!.trim().toLowerCase() !== 'application/json')
    throw new ApiError('bad_request', { reason: 'The content type must be application/json' });
}

/** Reads the body and checks its signature. @throws {ApiError} */
async function readSigned(
  request: Request,
  { header, scheme, prefix }: TokenHostKind['signature'],
  secret: string,
  hash: Hash,
): Promise<Buffer> {
  const given = request.headers.get(header) ?? '';
  if (scheme === 'token' && !isSame(given, secret)) throw new ApiError('signature_invalid');
  const digits = given.startsWith(prefix) ? given.slice(prefix.length) : '';
  if (scheme === 'hmac' && !/^[0-9a-f]{64}$/.test(digits)) throw new ApiError('signature_invalid');
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX);
  const hmac = createHmac('sha256', secret);
  const bytes = await readLimited(request, [hmac, hash]);
  if (scheme === 'hmac' && !timingSafeEqual(hmac.digest(), Buffer.from(digits, 'hex')))
    throw new ApiError('signature_invalid');
  if (bytes === null) throw tooLarge(PARSED_BYTES_MAX);
  return bytes;
}

/** Returns the value of the first of these headers that is present. */
function headerOf(request: Request, names: readonly string[], pattern: RegExp): string {
  const name = names.find((each) => request.headers.has(each)) ?? names[0]!;
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

function parse<Parsed>(event: string, bytes: Buffer, read: (event: string, body: unknown) => Parsed): Parsed {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError('bad_request', { reason: 'The body is not JSON' });
  }
  try {
    return read(event, body);
  } catch (error) {
    if (!isFailure(error, 'delivery_malformed')) throw error;
    throw new ApiError('bad_request', { reason: `The body is not a valid "${event}" event: ${error.message}` });
  }
}

/**
 * The signature covers neither the id of the delivery nor the name of its event, so a known body is also refused under
 * another id or name. Timestamps in bodies are in seconds, so two bodies are equal if the same event happens twice
 * within a second.
 */
async function storeDelivery(
  sql: Dependencies['sql'],
  {
    deliveryId,
    event,
    bodyHash,
  }: { readonly deliveryId: string; readonly event: string; readonly bodyHash: Buffer | null },
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

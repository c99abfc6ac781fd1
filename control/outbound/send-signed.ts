// Sends JSON with a signature, which the receiver checks with the secret it shares. Used by webhooks and alerts.
import { createHmac } from 'node:crypto';
import { post, type AttemptResult, type Resolve } from '#core/outbound/post.ts';

/** One attempt. */
interface SignedRequest {
  readonly url: string;
  readonly secret: string;
  /** Id of the delivery: the same for every attempt. */
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly body: string;
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean;
}

/**
 * Value of `x-platform-signature`.
 *
 * @param seconds since 1970.
 * @example signatureOf('whsec_x', 1, '{}') // 't=1,v1=<hex of HMAC-SHA-256 over "1.{}">'
 */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Sends it. Never throws. @param resolve for tests. */
export function sendSigned(request: SignedRequest, resolve?: Resolve): Promise<AttemptResult> {
  const { url, secret, id, event, body, isPrivate } = request;
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'platform-webhooks',
    'x-platform-event': event,
    'x-platform-delivery': id,
    'x-platform-signature': signatureOf(secret, Math.floor(Date.now() / 1000), body),
  };
  return post({ url, headers, body, isPrivate }, resolve);
}

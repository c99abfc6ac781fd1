// Uploads an object to an S3-compatible bucket with a signed request, through the client for user-supplied URLs
// (post.ts). Used by drains.
import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { post, type AttemptResult, type Resolve } from '#core/outbound/post.ts';

/** An object and its destination. */
interface NewObject {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Key of the object. The key is not encoded, so it may only contain letters, digits and `/_.=-`. */
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean;
}

/** Uploads it. Never throws. @param resolve for tests. */
export async function putObject(object: NewObject, resolve?: Resolve): Promise<AttemptResult> {
  const { endpoint, bucket, key, body, headers, isPrivate, region, accessKeyId, secretAccessKey } = object;
  const { url, headers: signed } = await new AwsV4Signer({
    service: 's3',
    method: 'PUT',
    url: `${endpoint.replace(/\/+$/, '')}/${bucket}/${key}`,
    region,
    accessKeyId,
    secretAccessKey,
    headers: { ...headers, 'x-amz-content-sha256': createHash('sha256').update(body).digest('hex') },
    body,
  }).sign();
  return post({ url: url.href, method: 'PUT', headers: Object.fromEntries(signed), body, isPrivate }, resolve);
}

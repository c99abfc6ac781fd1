// Sends lines to the target of a drain: NDJSON or a JSON array by POST, or an object in a bucket. Called by deliver.ts
// and by the route that tests a drain.
import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import { post, type AttemptResult, type Resolve } from '#core/outbound/post.ts';
import { putObject } from '../outbound/put-object.ts';
import type { StoredLine } from '../telemetry/lines.ts';
import type { ShownTarget, TargetSecret } from './target.ts';

const gzip = promisify(gzipWithCallback);
/** Line numbers in object names are padded, so that names sort in the order of lines. */
const NUMBER_CHARS = 15;

/** The fields of a drain that sending needs. */
export interface Drain {
  readonly id: string;
  readonly projectName: string;
  readonly target: ShownTarget;
  readonly secret: TargetSecret;
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean;
}

/** Result of an attempt, with the number of bytes sent. */
export interface SendResult extends AttemptResult {
  readonly bytes: number;
}

/** Sends the lines of a batch, which has at least one line. Never throws. @param resolve for tests. */
export async function sendLines(drain: Drain, lines: readonly StoredLine[], resolve?: Resolve): Promise<SendResult> {
  const { id, projectName, target, secret, isPrivate } = drain;
  const records = lines.map((line) => JSON.stringify({ ...line, project: projectName }));
  if (target.kind === 's3') {
    if (!('accessKeyId' in secret))
      return { status: null, error: 'The keys of the bucket are missing: set the target of the drain again', bytes: 0 };
    const body = await gzip(`${records.join('\n')}\n`);
    const { endpoint, bucket, region } = target;
    const key = objectKey(drain, target.prefix, lines[0]!);
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' };
    const sent = await putObject({ endpoint, bucket, region, ...secret, key, headers, body, isPrivate }, resolve);
    return { ...sent, bytes: body.length };
  }
  const isArray = target.format === 'json';
  const text = isArray ? `[${records.join(',')}]` : `${records.join('\n')}\n`;
  const body = target.gzip ? await gzip(text) : Buffer.from(text);
  const headers = {
    'user-agent': 'platform-drains',
    ...('headers' in secret ? secret.headers : {}),
    'content-type': isArray ? 'application/json' : 'application/x-ndjson',
    ...(target.gzip && { 'content-encoding': 'gzip' }),
    'x-platform-drain': id,
    // A repeated batch has the same value, by which receivers recognize it.
    'x-platform-batch': `${lines[0]!.id}-${lines.at(-1)!.id}`,
  };
  return { ...(await post({ url: target.url, headers, body, isPrivate }, resolve)), bytes: body.length };
}

/**
 * Name of an object, by hour and first line: a retry replaces the object of the earlier attempt.
 *
 * @example objectKey(drain, 'logs', first) // 'logs/shop/2026/11/23/08/000000000004711-drn_1.ndjson.gz'
 */
function objectKey({ id, projectName }: Drain, prefix: string, { at, id: number }: StoredLine): string {
  const hour = at.slice(0, 13).replace(/[-T]/g, '/');
  const name = `${number.padStart(NUMBER_CHARS, '0')}-${id}.ndjson.gz`;
  return [...(prefix === '' ? [] : [prefix]), projectName, hour, name].join('/');
}

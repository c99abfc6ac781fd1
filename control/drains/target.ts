// The target of a drain: validates it, and splits it into a visible and an encrypted part. Used by the routes of drains
// and by deliver.ts.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { checkHeaders, headerNames, HeadersSchema } from '../outbound/headers.ts';
import { checkTargetUrl, TargetUrl } from '../outbound/target-url.ts';

const HttpTarget = Type.Object(
  {
    kind: Type.Literal('http'),
    url: TargetUrl,
    format: Type.Optional(
      Type.Enum(['ndjson', 'json'], { description: 'One JSON object per line (default), or an array' }),
    ),
    gzip: Type.Optional(Type.Boolean({ description: 'Compress bodies; off by default' })),
    headers: Type.Optional(HeadersSchema),
  },
  { additionalProperties: false },
);

const BucketTarget = Type.Object(
  {
    kind: Type.Literal('s3'),
    endpoint: Type.String({ maxLength: 2048, description: 'Such as https://s3.eu-central-1.amazonaws.com' }),
    bucket: Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' }),
    region: Type.String({ pattern: '^[a-z0-9-]{1,40}$' }),
    prefix: Type.Optional(
      Type.String({
        pattern: '^(?:[A-Za-z0-9_=-][A-Za-z0-9_.=-]*(?:/[A-Za-z0-9_=-][A-Za-z0-9_.=-]*)*/?)?$',
        maxLength: 200,
      }),
    ),
    accessKeyId: Type.String({ minLength: 1, maxLength: 256, pattern: '^[\\x21-\\x7e]+$' }),
    secretAccessKey: Type.String({ minLength: 1, maxLength: 512, pattern: '^[\\x21-\\x7e]+$' }),
  },
  { additionalProperties: false },
);

/** A target as users send it. */
export const TargetSchema = Type.Union([HttpTarget, BucketTarget]);
export type GivenTarget = Static<typeof TargetSchema>;

/** A target as it is stored and shown. */
export const ShownTargetSchema = Type.Union([
  Type.Object({
    kind: Type.Literal('http'),
    url: Type.String(),
    format: Type.Enum(['ndjson', 'json']),
    gzip: Type.Boolean(),
    // Names only.
    headers: Type.Array(Type.String()),
  }),
  Type.Object({
    kind: Type.Literal('s3'),
    endpoint: Type.String(),
    bucket: Type.String(),
    region: Type.String(),
    prefix: Type.String(),
  }),
]);
export type ShownTarget = Static<typeof ShownTargetSchema>;

/** The encrypted part, as JSON. */
export type TargetSecret =
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly accessKeyId: string; readonly secretAccessKey: string };

/** @throws {ApiError} `bad_request` for a target that is not allowed. */
export function checkTarget(target: GivenTarget, isPrivate: boolean): void {
  if (target.kind === 's3') return checkTargetUrl('body.target.endpoint', target.endpoint, isPrivate);
  checkTargetUrl('body.target.url', target.url, isPrivate);
  checkHeaders('body.target.headers', target.headers ?? {});
}

/** Host of a target, for the audit log. */
export function hostOf(target: GivenTarget): string {
  return new URL(target.kind === 's3' ? target.endpoint : target.url).host;
}

/** Splits a target into the visible and the encrypted part. */
export function partTarget(target: GivenTarget): { readonly shown: ShownTarget; readonly secret: TargetSecret } {
  if (target.kind === 's3') {
    const { kind, endpoint, bucket, region, prefix = '', accessKeyId, secretAccessKey } = target;
    const shown = { kind, endpoint, bucket, region, prefix: prefix.replace(/\/+$/, '') };
    return { shown, secret: { accessKeyId, secretAccessKey } };
  }
  const { kind, url, format = 'ndjson', gzip = false, headers = {} } = target;
  return { shown: { kind, url, format, gzip, headers: headerNames(headers) }, secret: { headers } };
}

// The target of a drain: validates it, and splits it into a visible and a sealed part. Used by the routes of drains and
// by deliver.ts.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { urlProblem } from '#core/way-out/post.ts';

const HEADERS_MAX = 20;
/** Headers of the request itself, which users cannot set. */
const OWN_HEADERS =
  /^(?:host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|x-platform-.*)$/i;

const HttpTarget = Type.Object(
  {
    kind: Type.Literal('http'),
    url: Type.String({ maxLength: 2048 }),
    format: Type.Optional(Type.Enum(['ndjson', 'json'], { description: 'A line of JSON each (default), or an array' })),
    gzip: Type.Optional(Type.Boolean({ description: 'Compress bodies; off by default' })),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$" }),
        Type.String({ maxLength: 4096, pattern: '^[\\x20-\\x7e]*$' }),
        { description: 'Such as authorization. They are never shown again', maxProperties: HEADERS_MAX },
      ),
    ),
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

/** The sealed part, as JSON. */
export type TargetSecret =
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly accessKeyId: string; readonly secretAccessKey: string };

/** Encryption context of a drain's secret. */
export function drainContext(drainId: string): string {
  return `drain:${drainId}`;
}

/** Why a target is invalid; null if it is valid. */
export function targetProblem(target: GivenTarget, isPrivate: boolean): string | null {
  if (target.kind === 's3') {
    const problem = urlProblem(target.endpoint, isPrivate);
    return problem === null ? null : `body.target.endpoint: ${problem}`;
  }
  const problem = urlProblem(target.url, isPrivate);
  if (problem !== null) return `body.target.url: ${problem}`;
  const own = Object.keys(target.headers ?? {}).find((name) => OWN_HEADERS.test(name));
  return own === undefined ? null : `body.target.headers: ${own} is said by the platform itself`;
}

/** Splits a target into the visible and the sealed part. */
export function partTarget(target: GivenTarget): { readonly shown: ShownTarget; readonly secret: TargetSecret } {
  if (target.kind === 's3') {
    const { kind, endpoint, bucket, region, prefix = '', accessKeyId, secretAccessKey } = target;
    const shown = { kind, endpoint, bucket, region, prefix: prefix.replace(/\/+$/, '') };
    return { shown, secret: { accessKeyId, secretAccessKey } };
  }
  const { kind, url, format = 'ndjson', gzip = false, headers = {} } = target;
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return { shown: { kind, url, format, gzip, headers: names }, secret: { headers } };
}

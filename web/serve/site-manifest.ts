// The manifest of a built site, written by web/serve/finish-site.ts and read by serve-site.ts. Files that are not in
// the manifest are not served.
import Type, { Compile, type Static } from '#core/typebox/typebox.mjs';

const FileEntry = Type.Object({
  /** `Content-Type`. */
  type: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  /** Hash of the content, without quotes. */
  etag: Type.String(),
  /** Sizes of `<file>.br` and `<file>.gz`, if present. */
  br: Type.Optional(Type.Integer()),
  gzip: Type.Optional(Type.Integer()),
  /** Whether the file name contains a content hash. */
  immutable: Type.Optional(Type.Literal(true)),
});

const Manifest = Type.Object({
  version: Type.Literal(1),
  /** By path from the site's root, such as `assets/index-1a2b.js`. */
  files: Type.Record(Type.String(), FileEntry),
  /** File for client-side routes, or null. */
  fallback: Type.Union([Type.String(), Type.Null()]),
  /** File for 404 responses; null means plain text. */
  notFound: Type.Union([Type.String(), Type.Null()]),
  /** CSP sources by directive, in addition to `'self'`. */
  policy: Type.Record(Type.String(), Type.Array(Type.String())),
});

/** A built site. */
export type SiteManifest = Static<typeof Manifest>;
export type SiteFile = Static<typeof FileEntry>;

export const MANIFEST_FILE = 'site.json';

const checkManifest = Compile(Manifest);

/** @throws {Error} for an invalid manifest or another version. */
export function parseManifest(text: string): SiteManifest {
  const value: unknown = JSON.parse(text);
  if (!checkManifest.Check(value)) throw new Error(`${MANIFEST_FILE} is from another version: build the site again`);
  return value;
}

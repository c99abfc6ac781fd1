// What stands beside the files of a built site: web/build/finish-site.ts writes it, serve-site.ts reads it. A file that
// is not in it is not served.
import Type, { Compile, type Static } from '#core/typebox/typebox.mjs';

const FileEntry = Type.Object({
  /** `Content-Type`. */
  type: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  /** Of its content, without quotes. */
  etag: Type.String(),
  /** Sizes of `<file>.br` and `<file>.gz`, where they are there: only what they make smaller. */
  br: Type.Optional(Type.Integer()),
  gzip: Type.Optional(Type.Integer()),
  /** Its name holds a hash of its content. */
  immutable: Type.Optional(Type.Literal(true)),
});

const Manifest = Type.Object({
  version: Type.Literal(1),
  /** By path from the site's root, such as `assets/index-1a2b.js`. */
  files: Type.Record(Type.String(), FileEntry),
  /** Answers paths of pages that only the client knows; null: there are none. */
  fallback: Type.Union([Type.String(), Type.Null()]),
  /** Answers what is not there, with 404; null: a plain text does. */
  notFound: Type.Union([Type.String(), Type.Null()]),
  /** Sources that the Content-Security-Policy allows beside `'self'`, by directive. */
  policy: Type.Record(Type.String(), Type.Array(Type.String())),
});

/** A built site. */
export type SiteManifest = Static<typeof Manifest>;
export type SiteFile = Static<typeof FileEntry>;

export const MANIFEST_FILE = 'site.json';

const checkManifest = Compile(Manifest);

/** @throws {Error} when it is not one of this version. */
export function parseManifest(text: string): SiteManifest {
  const value: unknown = JSON.parse(text);
  if (!checkManifest.Check(value)) throw new Error(`${MANIFEST_FILE} is not one of this version: build the site again`);
  return value;
}

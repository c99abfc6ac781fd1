// Converts the output of a bundler to a site for web/: adds precompressed files and the manifest with content types,
// hashes and CSP sources of inline scripts. The last step of every site build.
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { lookup } from 'mrmime';
import { MANIFEST_FILE, type SiteFile, type SiteManifest } from './site-manifest.ts';

/** Options of a site. */
interface SiteOptions {
  /** File for client-side routes. */
  readonly fallback?: string;
  /** File for 404 responses. */
  readonly notFound?: string;
  /** CSP sources by directive, in addition to `'self'` and hashes of inline scripts. */
  readonly policy?: Readonly<Record<string, readonly string[]>>;
  /** Brotli quality, 0 to 11: high for packages, low if a user is waiting. */
  readonly quality?: number;
  /** Whether a file name contains a content hash. */
  readonly isHashed: (name: string) => boolean;
}

const QUALITY = 11;
/** Smaller files fit in one packet. */
const COMPRESSED_BYTES_MIN = 512;
const TEXT = /^(?:text\/|application\/(?:json|javascript|manifest\+json|xml)|image\/svg\+xml)/;

/**
 * @throws {Error} if `fallback` or `notFound` is missing.
 * @example await finishSite('/tmp/site', { fallback: 'index.html', isHashed: (name) => name.startsWith('assets/') })
 */
export async function finishSite(folder: string, options: SiteOptions): Promise<SiteManifest> {
  const { fallback = null, notFound = null, policy = {}, quality = QUALITY, isHashed } = options;
  const files: Record<string, SiteFile> = {};
  const scripts = new Set<string>();
  for (const name of globSync('**/*', { cwd: folder }).sort()) {
    const file = path.join(folder, name);
    if (!(await stat(file)).isFile() || /\.(?:br|gz)$/.test(name) || name === MANIFEST_FILE) continue;
    const content = await readFile(file);
    const type = lookup(name) ?? 'application/octet-stream';
    const isText = TEXT.test(type);
    if (type === 'text/html') for (const hash of inlineScripts(content.toString())) scripts.add(`'${hash}'`);
    files[name.split(path.sep).join('/')] = {
      type: isText && !type.startsWith('image/') ? `${type}; charset=utf-8` : type,
      bytes: content.length,
      etag: createHash('sha256').update(content).digest('base64url').slice(0, 22),
      ...(isText && content.length >= COMPRESSED_BYTES_MIN && (await compress(file, content, quality))),
      ...(isHashed(name) && { immutable: true as const }),
    };
  }
  for (const needed of [fallback, notFound])
    if (needed !== null && files[needed] === undefined) throw new Error(`${needed} is not in ${folder}`);
  const sources: Record<string, string[]> = Object.fromEntries(
    Object.entries(policy).map(([directive, allowed]) => [directive, [...allowed]]),
  );
  if (scripts.size > 0) sources['script-src'] = [...(sources['script-src'] ?? []), ...scripts];
  const manifest: SiteManifest = { version: 1, files, fallback, notFound, policy: sources };
  await writeFile(path.join(folder, MANIFEST_FILE), JSON.stringify(manifest));
  return manifest;
}

/** CSP hashes of a page's inline scripts. */
export function inlineScripts(html: string): string[] {
  return [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)].flatMap(([, attributes, text]) =>
    /\bsrc=|\btype="application\/(?:ld\+)?json"/.test(attributes!) || text === ''
      ? []
      : [`sha256-${createHash('sha256').update(text!).digest('base64')}`],
  );
}

/** Writes compressed files if they are smaller. */
async function compress(file: string, content: Buffer, quality: number): Promise<{ br?: number; gzip?: number }> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
    }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  if (br.length < content.length) await writeFile(`${file}.br`, br);
  if (zipped.length < content.length) await writeFile(`${file}.gz`, zipped);
  return {
    ...(br.length < content.length && { br: br.length }),
    ...(zipped.length < content.length && { gzip: zipped.length }),
  };
}

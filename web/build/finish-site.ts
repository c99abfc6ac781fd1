// Makes a folder that a bundler has filled a site that web/ serves: compressed forms beside each file, and the manifest
// with types, hashes and what the pages' own inline scripts are allowed by. Who builds a site calls it last.
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { lookup } from 'mrmime';
import { MANIFEST_FILE, type SiteFile, type SiteManifest } from '../serve/site-manifest.ts';

/** What the builder of a site knows of it. */
export interface SiteOptions {
  /** Answers paths that only the client knows. */
  readonly fallback?: string;
  /** Answers what is not there. */
  readonly notFound?: string;
  /** Sources for the Content-Security-Policy beside `'self'` and the hashes of inline scripts, by directive. */
  readonly policy?: Readonly<Record<string, readonly string[]>>;
  /** Brotli's, 0 to 11: what is packed once is worth more than what somebody waits for. */
  readonly quality?: number;
  /** Whether a file's name holds a hash of its content. */
  readonly isHashed: (name: string) => boolean;
}

const QUALITY = 11;
/** Smaller ones are one packet anyway. */
const COMPRESSED_BYTES_MIN = 512;
const TEXT = /^(?:text\/|application\/(?:json|javascript|manifest\+json|xml)|image\/svg\+xml)/;

/**
 * @throws {Error} when `fallback` or `notFound` is not there.
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

/** Hashes of a page's scripts that are written into it, as a policy names them. */
export function inlineScripts(html: string): string[] {
  return [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)].flatMap(([, attributes, text]) =>
    /\bsrc=|\btype="application\/(?:ld\+)?json"/.test(attributes!) || text === ''
      ? []
      : [`sha256-${createHash('sha256').update(text!).digest('base64')}`],
  );
}

/** Writes the compressed forms that are smaller. */
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

// Serves the files of a built site: only those in its manifest, compressed if the browser supports it. Called by
// main.ts. This file builds and changes nothing.
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { siteHeaders } from './headers.ts';
import { MANIFEST_FILE, parseManifest, type SiteFile, type SiteManifest } from './site-manifest.ts';

/** An opened site. */
export interface Site {
  /** Responds to a request for a path without a query. Never rejects. */
  answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
}

const YEAR = 'public, max-age=31536000, immutable';
/** Revalidated by ETag. */
const REVALIDATE = 'no-cache';

/**
 * Opens a site.
 *
 * @param isHttps whether the site is served over https.
 * @throws {Error} if the folder contains no built site.
 */
export async function openSite(folder: string, isHttps: boolean): Promise<Site> {
  const manifest = parseManifest(await readFile(join(folder, MANIFEST_FILE), 'utf8'));
  const protection = siteHeaders(manifest.policy, isHttps);
  return {
    async answer(request, response, path) {
      for (const [name, value] of Object.entries(protection)) response.setHeader(name, value);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain; charset=utf-8' });
        response.end('Method not allowed: use GET or HEAD\n');
        return;
      }
      const found = findFile(manifest, path);
      if (found === null) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': REVALIDATE });
        response.end('Page not found\n');
        return;
      }
      await send(request, response, folder, found);
    },
  };
}

interface Found {
  readonly name: string;
  readonly file: SiteFile;
  readonly status: 200 | 404;
}

/** The file of a path: exact, `.html`, `index.html` of a folder, the fallback, or the 404 page. */
export function findFile({ files, fallback, notFound }: SiteManifest, path: string): Found | null {
  const name = nameOf(path);
  const at = (asked: string): SiteFile | undefined => (Object.hasOwn(files, asked) ? files[asked] : undefined);
  for (const asked of name === null ? [] : [name, `${name}.html`, name === '' ? 'index.html' : `${name}/index.html`]) {
    const file = at(asked);
    if (file !== undefined) return { name: asked, file, status: 200 };
  }
  // Paths that end like a file name are not client-side routes.
  const isPage = name !== null && !/\.[A-Za-z0-9]+$/.test(name) && !name.startsWith('assets/');
  if (fallback !== null && isPage) return { name: fallback, file: at(fallback)!, status: 200 };
  return notFound === null ? null : { name: notFound, file: at(notFound)!, status: 404 };
}

/** Null for an invalid path. */
function nameOf(path: string): string | null {
  try {
    return decodeURIComponent(path).replace(/^\/+|\/+$/g, '');
  } catch {
    return null;
  }
}

async function send(request: IncomingMessage, response: ServerResponse, folder: string, found: Found): Promise<void> {
  const { name, file, status } = found;
  const encoding = encodingFor(String(request.headers['accept-encoding'] ?? ''), file);
  const etag = `"${file.etag}${encoding === null ? '' : `-${encoding}`}"`;
  response.setHeader('etag', etag);
  response.setHeader('vary', 'accept-encoding');
  response.setHeader('cache-control', file.immutable === true && status === 200 ? YEAR : REVALIDATE);
  if (status === 200 && matches(request.headers['if-none-match'], etag)) {
    response.writeHead(304).end();
    return;
  }
  if (encoding !== null) response.setHeader('content-encoding', encoding === 'br' ? 'br' : 'gzip');
  response.setHeader('content-type', file.type);
  response.setHeader('content-length', encoding === null ? file.bytes : file[encoding]!);
  response.statusCode = status;
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const suffix = encoding === null ? '' : encoding === 'br' ? '.br' : '.gz';
  await pipeline(createReadStream(join(folder, `${name}${suffix}`)), response);
}

function matches(header: string | undefined, etag: string): boolean {
  return header !== undefined && header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}

/** The smallest encoding that the browser accepts. */
function encodingFor(accepted: string, file: SiteFile): 'br' | 'gzip' | null {
  const takes = new Set(
    accepted.split(',').flatMap((one) => {
      const [word = '', weight = ''] = one.trim().toLowerCase().split(';');
      return /^\s*q=0(?:\.0*)?$/.test(weight) ? [] : [word.trim()];
    }),
  );
  if (file.br !== undefined && takes.has('br')) return 'br';
  return file.gzip !== undefined && takes.has('gzip') ? 'gzip' : null;
}

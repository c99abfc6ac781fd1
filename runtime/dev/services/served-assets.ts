// Static files that a dev server creates on request: implements `env.ASSETS` behind Vite. Paths are resolved as in
// production, by the existing files, and the dev server provides the bytes. This is not used for visitors.
import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { problem, redirectAnswer, type AssetAnswer } from '../../engine/assets/asset-answers.ts';
import { assetTarget, decodedPath, notFoundPage, takesPage } from '../../engine/assets/asset-rules.ts';
import type { AssetReply } from '../../engine/bindings/assets.ts';
import type { AssetServer, HostedRequest } from '../../engine/assets/assets.ts';
import type { ServedFiles } from '../contract/dev-engine.ts';

/** Headers of the worker's request that are passed to the dev server. */
const PASSED = ['accept', 'if-none-match', 'if-modified-since', 'range', 'if-range', 'sec-fetch-dest'];
/** Headers that no response of the binding has: hop-by-hop headers, and the length. */
const NOT_PASSED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date']);

/** @param files returns the current location of the files; null if it is not known yet. */
export function createServedAssets(files: () => ServedFiles | null): AssetServer {
  return {
    // Only workers call this function, because visitors go through the dev server.
    serve: () => 0,
    serveErrorPage: () => false,
    async fetch(request, artifact) {
      const served = files();
      const rules = artifact.manifest.assets;
      if (served === null || rules === null) return plain(problem('asset_not_found'));
      const isFile = (key: string): boolean => isServed(served, key);
      const where = decodedPath(request.target);
      const target = where === null ? null : assetTarget(isFile, where);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        if (target === null) return plain(problem('asset_not_found'));
        return plain(problem('method_not_allowed', { method: request.method }, 'allow\0GET, HEAD\0'));
      }
      if (where === null) return plain(problem('bad_request', { reason: 'the path is malformed' }));
      if (target !== null && 'redirect' in target) return plain(redirectAnswer(target.redirect, request.target));
      // The dev server may generate files that do not exist on disk, such as a script of a page.
      const found = await ask(served, target === null ? request.target : targetOf(target.file), request);
      if (found !== null) return found;
      if (rules.notFoundHandling === 'single-page-application' && takesPage(request) && isFile('index.html'))
        return (await ask(served, '/index.html', request)) ?? plain(problem('asset_not_found'));
      const page = rules.notFoundHandling === '404-page' ? notFoundPage(isFile, where) : null;
      const missing = page === null ? null : await ask(served, targetOf(page), request);
      return missing === null ? plain(problem('asset_not_found')) : { ...missing, status: 404 };
    },
  };
}

/** Whether a build would also serve the file; sources are not served. */
function isServed({ root, publicFolder }: ServedFiles, key: string): boolean {
  if (key === '' || key.endsWith('/')) return false;
  if (publicFolder !== null && existsSync(path.join(publicFolder, key))) return true;
  return key.endsWith('.html') && existsSync(path.join(root, key));
}

function targetOf(key: string): string {
  return `/${key.split('/').map(encodeURIComponent).join('/')}`;
}

function plain({ status, headerBlock, body }: AssetAnswer): AssetReply {
  return { status, headerBlock, text: body as string, read: null };
}

/** The response of the dev server; null if the file does not exist. */
function ask({ url }: ServedFiles, target: string, request: HostedRequest): Promise<AssetReply | null> {
  const headers: [string, string][] = [['host', 'localhost']];
  for (const name of PASSED) {
    const value = request.header(name);
    if (value !== null) headers.push([name, value]);
  }
  return new Promise((resolve, reject) => {
    const { request: open } = process.getBuiltinModule('node:http');
    const sent = open(`${url}${target}`, { method: request.method, headers: headers.flat() }, (answer) =>
      resolve(replyOf(answer, request.method)),
    );
    sent.on('error', (error) =>
      reject(new PlatformError('fetch_failed', { reason: `The dev server does not answer: ${error.message}` })),
    );
    sent.end();
  });
}

function replyOf(answer: IncomingMessage, method: string): AssetReply | null {
  const { statusCode: status = 500, rawHeaders } = answer;
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304 && status !== 404;
  if (!hasBody) answer.resume();
  if (status === 404) return null;
  let headerBlock = '';
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (!NOT_PASSED.has(name)) headerBlock += `${name}\0${rawHeaders[at + 1]}\0`;
  }
  return { status, headerBlock, text: null, read: hasBody ? () => answer : null };
}

// Static files, served without entering an isolate. The handler calls `serve`; the worker's asset binding calls
// `fetch`, which needs no socket. asset-rules.ts selects the file, asset-changes.ts applies `_headers` and
// `_redirects`.
import type { PlatformError } from '#core/errors.ts';
import type { AssetEncoding, AssetFile } from '#core/manifest.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { AssetReply } from '../bindings/assets.ts';
import type { Exchange } from '../http/listener.ts';
import { prefersPage } from '../http/page-preference.ts';
import {
  formAnswer,
  headerBlockOf,
  problem,
  problemPage,
  redirectAnswer,
  withQuery,
  type AssetAnswer,
  type Form,
} from './asset-answers.ts';
import { assetChanges, type AssetChanges, type Moved } from './asset-changes.ts';
import { encodingOrder, type EncodingOrder } from './asset-conditions.ts';
import { createAssetContents, StoredFile, type AssetBody } from './asset-contents.ts';
import {
  assetTarget,
  decodedPath,
  isHashedName,
  isNavigation,
  keysOf,
  notFoundPage,
  takesPage,
  type AssetRequest,
} from './asset-rules.ts';

/** A request with its host, on which rules may depend. */
export interface HostedRequest extends AssetRequest {
  /** The host in lower case, with the port if there is one. */
  readonly host: string;
}

type AssetForm = Pick<AssetFile, 'hash' | 'bytes'>;

export interface AssetServer {
  /**
   * Serves a file. Returns the status of the response; 0 if there is no file for the request and nothing was sent. With
   * `last`, there is no worker, so the response is then 404 or 405.
   */
  serve(exchange: Exchange, artifact: OpenArtifact, last?: boolean): number;
  /**
   * Sends the project's own error page to a browser; false if the project has none, and nothing was sent.
   *
   * @param headerBlock further headers.
   */
  serveErrorPage(exchange: Exchange, artifact: OpenArtifact, status: number, headerBlock: string): boolean;
  /**
   * Returns the response without a socket, as if there were no worker. Bytes come in pieces of at most 64 KB; reading
   * them throws {@link PlatformError} `artifact_corrupt`.
   */
  fetch(request: HostedRequest, artifact: OpenArtifact): AssetReply | Promise<AssetReply>;
}

/** The page of a path, unencoded and in compressed encodings. */
interface Page {
  readonly identity: Form;
  readonly br: Form | null;
  readonly gzip: Form | null;
}

/** Result of looking up a path. */
type Found = { readonly page: Page } | { readonly redirect: string } | { readonly moved: Moved };

/** Cached data of an artifact, created on its first request, and dropped together with the artifact. */
interface Known {
  readonly changes: AssetChanges;
  readonly stored: Map<string, StoredFile>;
  /** Pages by key, status and changes of header rules. */
  readonly pages: Map<string, Page>;
  /** Pages by requested path: at most a handful for each file, so it needs no limit. */
  readonly found: Map<string, Found>;
}

/** Maximum number of cached pages per artifact, not counting pages without header rules. */
const PAGES_MAX = 2000;
/** Maximum number of cached Accept-Encoding values; browsers send only a few. */
const ORDERS_MAX = 256;

export function createAssetServer(options: { readonly cacheBytesMax?: number } = {}): AssetServer {
  const known = new WeakMap<OpenArtifact, Known>();
  const orders = new Map<string, EncodingOrder>();
  const { read } = createAssetContents(options);

  function knownOf(artifact: OpenArtifact): Known {
    let found = known.get(artifact);
    if (found === undefined) {
      const changes = assetChanges(artifact.manifest.assets!);
      known.set(artifact, (found = { changes, stored: new Map(), pages: new Map(), found: new Map() }));
    }
    return found;
  }

  function stored(
    { stored: files }: Known,
    artifact: OpenArtifact,
    path: string,
    file: AssetFile | AssetForm,
  ): StoredFile {
    let found = files.get(path);
    if (found === undefined) files.set(path, (found = new StoredFile(artifact.id, path, file)));
    return found;
  }

  /** The page for a path; with a status other than 200, an error page. */
  function pageOf(artifact: OpenArtifact, key: string, path: string, host: string, status = 200): Page {
    const of = knownOf(artifact);
    const changes = of.changes.headersOf(path, host);
    const name = `${status}/${key}\0${changes?.key ?? ''}`;
    const made = of.pages.get(name);
    if (made !== undefined) return made;
    const file = artifact.manifest.assets!.files[key]!;
    const encodings = file.encoded ?? {};
    const varies = Object.keys(encodings).length > 0;
    const caching =
      status === 200 && isHashedName(key)
        ? 'public, max-age=31536000, immutable'
        : status >= 500
          ? 'no-store'
          : 'public, max-age=0, must-revalidate';
    const form = (encoding: AssetEncoding | null, content: AssetForm): Form => {
      const filePath = encoding === null ? artifact.assetFile(key) : artifact.encodedFile(content.hash);
      const etag = `"${content.hash}"`;
      const short: [string, string][] = [['cache-control', caching]];
      // Error pages support no ranges and no revalidation.
      if (status === 200) short.unshift(['etag', etag]);
      if (varies) short.push(['vary', 'accept-encoding']);
      const long: [string, string][] = [['content-type', file.type], ...short];
      if (encoding !== null) long.push(['content-encoding', encoding]);
      else if (status === 200) long.push(['accept-ranges', 'bytes']);
      const shortBlock = headerBlockOf(short, changes, false);
      const type = changes?.set.get('content-type') ?? file.type;
      return {
        file: stored(of, artifact, filePath, content),
        etag,
        headerBlock: headerBlockOf(long, changes, true),
        shortBlock,
        type,
      };
    };
    const encoded = (encoding: AssetEncoding): Form | null =>
      encodings[encoding] ? form(encoding, encodings[encoding]) : null;
    const page = { identity: form(null, file), br: encoded('br'), gzip: encoded('gzip') };
    // With placeholders in values, there can be as many pages as paths.
    if (of.pages.size >= PAGES_MAX && changes !== null) of.pages.clear();
    of.pages.set(name, page);
    return page;
  }

  /** The encoding that a request prefers. Ranges refer to the unencoded bytes. */
  function formFor(request: AssetRequest, page: Page): Form {
    if (page.br === null && page.gzip === null) return page.identity;
    const header = request.header('accept-encoding');
    if (header === null || (request.method === 'GET' && request.header('range') !== null)) return page.identity;
    let order = orders.get(header);
    if (order === undefined) {
      if (orders.size === ORDERS_MAX) orders.clear();
      orders.set(header, (order = encodingOrder(header)));
    }
    for (const encoding of order) {
      const form = page[encoding];
      if (form !== null) return form;
    }
    return page.identity;
  }

  function find(
    artifact: OpenArtifact,
    target: string,
    host: string,
  ): { readonly path: string | null; readonly found: Found | null } {
    const { changes, found: remembered } = knownOf(artifact);
    const before = remembered.get(target);
    if (before !== undefined) return { path: target, found: before };
    const path = decodedPath(target);
    if (path === null) return { path, found: null };
    const moved = changes.movedFrom(path);
    if (moved !== null && (moved.status !== 200 || moved.force))
      return { path, found: follow(artifact, path, host, moved) };
    const { files } = artifact.manifest.assets!;
    const own = assetTarget(keysOf(files), path);
    if (own === null) return { path, found: moved === null ? null : follow(artifact, path, host, moved) };
    const found = 'file' in own ? { page: pageOf(artifact, own.file, path, host) } : own;
    if (path === target && !changes.dependsOnHost) remembered.set(target, found);
    return { path, found };
  }

  function follow(artifact: OpenArtifact, path: string, host: string, moved: Moved): Found | null {
    if (moved.status !== 200) return { moved };
    const { files } = artifact.manifest.assets!;
    const isFile = keysOf(files);
    const target = assetTarget(isFile, moved.to);
    const last = target !== null && 'redirect' in target ? assetTarget(isFile, target.redirect) : target;
    return last !== null && 'file' in last ? { page: pageOf(artifact, last.file, path, host) } : null;
  }

  /** The response to a request; null if there is no file, and `last` is not set. */
  function answer(request: HostedRequest, artifact: OpenArtifact, last: boolean): AssetAnswer | null {
    const rules = artifact.manifest.assets;
    if (rules === null) return last ? problem('asset_not_found') : null;
    const { target, host } = request;
    const { path, found } = find(artifact, target, host);
    if (found !== null && 'moved' in found) {
      return { status: found.moved.status, headerBlock: `location\0${withQuery(found.moved.to, target)}\0`, body: '' };
    }
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (!reads) {
      if (!last) return null;
      return found === null
        ? problem('asset_not_found')
        : problem('method_not_allowed', { method: request.method }, 'allow\0GET, HEAD\0');
    }
    if (found !== null) {
      if ('page' in found) return formAnswer(request, formFor(request, found.page));
      return redirectAnswer(found.redirect, target);
    }
    if (path === null) return last ? problem('bad_request', { reason: 'The path is malformed' }) : null;
    const navigates = isNavigation(request);
    const shows = navigates || (last && takesPage(request));
    if (rules.notFoundHandling === 'single-page-application' && shows && Object.hasOwn(rules.files, 'index.html')) {
      return formAnswer(request, formFor(request, pageOf(artifact, 'index.html', path, host)));
    }
    if (rules.notFoundHandling === '404-page' && (navigates || last)) {
      const key = notFoundPage(keysOf(rules.files), path);
      if (key !== null) {
        return errorAnswer(request, artifact, key, path, 404);
      }
    }
    if (!last) return null;
    const own = shows ? rules.errorPages?.[404] : undefined;
    return own === undefined ? problem('asset_not_found') : errorAnswer(request, artifact, own, path, 404);
  }

  /** The response with a file as an error page. */
  function errorAnswer(
    request: HostedRequest,
    artifact: OpenArtifact,
    key: string,
    path: string,
    status: number,
  ): AssetAnswer {
    const { file, headerBlock } = formFor(request, pageOf(artifact, key, path, request.host, status));
    return { status, headerBlock, body: { file, start: 0, end: file.total } };
  }

  function serve(exchange: Exchange, artifact: OpenArtifact, last = false): number {
    const found = answer(exchange, artifact, last);
    if (found === null) return 0;
    sendAnswer(exchange, found.isProblem === true && prefersPage(exchange) ? problemPage(found) : found);
    return found.status;
  }

  const serveErrorPage: AssetServer['serveErrorPage'] = (exchange, artifact, status, headerBlock) => {
    const key = artifact.manifest.assets?.errorPages?.[status];
    if (key === undefined || !prefersPage(exchange)) return false;
    const found = errorAnswer(exchange, artifact, key, `/${key}`, status);
    sendAnswer(exchange, { ...found, headerBlock: found.headerBlock + headerBlock });
    return true;
  };

  function sendAnswer(exchange: Exchange, { status, headerBlock, body }: AssetAnswer): void {
    if (body === null || typeof body === 'string') exchange.send(status, headerBlock, body);
    else if (exchange.method === 'HEAD')
      exchange.send(status, `${headerBlock}content-length\0${body.end - body.start}\0`, null);
    else if (body.file.content !== null && body.parts === undefined) {
      const { file, start, end } = body;
      file.used = true;
      exchange.send(
        status,
        headerBlock,
        end - start === file.total ? file.content : file.content!.subarray(start, end),
      );
    } else void send(exchange, status, headerBlock, body);
  }

  /** Sends a body that is not in memory: at once if it is small, otherwise in pieces as the client reads it. */
  async function send(exchange: Exchange, status: number, headerBlock: string, body: AssetBody): Promise<void> {
    let begun = false;
    let gone = false;
    let wake: (() => void) | null = null;
    const onAbort = (): void => {
      gone = true;
      wake?.();
    };
    const onDrain = (): void => wake?.();
    exchange.onAbort = onAbort;
    exchange.onDrain = onDrain;
    const bytes = body.end - body.start;
    const pieces = read(body);
    try {
      for await (const piece of pieces) {
        if (gone) return;
        if (piece.byteLength === bytes) {
          exchange.send(status, headerBlock, piece);
          return;
        }
        if (!begun) {
          exchange.begin(status, `${headerBlock}content-length\0${bytes}\0`);
          begun = true;
        }
        if (!exchange.write(piece)) {
          await new Promise<void>((resolve) => (wake = resolve));
          wake = null;
        }
      }
      if (begun) exchange.end();
      else exchange.send(status, headerBlock, '');
    } catch (error) {
      if (begun) exchange.destroy();
      else {
        const { code, details } = error as PlatformError;
        const failure = code === 'artifact_corrupt' ? problem(code, details) : problem('internal');
        exchange.send(failure.status, failure.headerBlock, failure.body as string);
      }
    }
  }

  function fetch(request: HostedRequest, artifact: OpenArtifact): AssetReply {
    const { status, headerBlock, body } = answer(request, artifact, true)!;
    return body === null || typeof body === 'string'
      ? { status, headerBlock, text: body, read: null }
      : { status, headerBlock, text: null, read: () => read(body) };
  }

  return { serve, serveErrorPage, fetch };
}

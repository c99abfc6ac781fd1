// Static files, served without entering an isolate. The handler calls `serve`; the worker's asset binding calls `answer` and
// `read`, which know no socket. Which file answers is decided in asset-rules.ts.
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { errorMessage, errorTable, PlatformError } from '#core/errors.ts';
import type { AssetFile } from '#core/manifest.ts';
import type { OpenArtifact } from '../router/artifact-source.ts';
import { noneMatch, requestedRange } from './asset-conditions.ts';
import { assetTarget, decodedPath, isHashedName, isNavigation, notFoundPage, type AssetRequest, type AssetTarget } from './asset-rules.ts';
import type { Exchange } from './listener.ts';

export { assetDecision, type AssetRequest } from './asset-rules.ts';

/** Files up to this size are sent whole and kept in memory. */
const smallBytesMax = 64 * 1024;
/** Memory for them, of all deployments together. */
const cacheBytesMax = 64 * 1024 * 1024;
const chunkBytes = 64 * 1024;

/** A part of a file, or all of it; `end` is exclusive. */
export interface AssetBody {
  readonly file: StoredFile;
  readonly start: number;
  readonly end: number;
}

/** What a request for a static file is answered with. */
export interface AssetAnswer {
  readonly status: number;
  /** Without `content-length`: it is the body's. */ readonly headerBlock: string;
  readonly body: AssetBody | string | null;
}

export interface AssetServer {
  /**
   * Serves a file; false when there is none for the request and nothing was sent. `last`: there is no worker to ask, so
   * that the answer is 404 or 405 then.
   */
  serve(exchange: Exchange, artifact: OpenArtifact, last?: boolean): boolean;
  /** The same, without sending it: null where `serve` says false. */
  answer(request: AssetRequest, artifact: OpenArtifact, last?: boolean): AssetAnswer | null;
  /** The bytes of an answer's body, in pieces of at most 64 KB. @throws {PlatformError} `artifact_corrupt` */
  read(body: AssetBody): AsyncGenerator<Uint8Array, void, undefined>;
}

/** A file of an artifact with its headers; its content too while it is small and used. */
class StoredFile {
  readonly artifact: string;
  readonly path: string;
  readonly file: AssetFile;
  readonly etag: string;
  readonly headerBlock: string;
  /** What a 304 repeats. */ readonly notModifiedBlock: string;
  bytes: Uint8Array | null = null;
  loading: Promise<Uint8Array> | null = null;
  /** Second chance: set by every use, cleared by the search for something to drop. */ used = false;

  constructor(artifact: string, path: string, key: string, file: AssetFile) {
    this.artifact = artifact;
    this.path = path;
    this.file = file;
    this.etag = `"${file.hash}"`;
    const caching = isHashedName(key) ? 'public, max-age=31536000, immutable' : 'public, max-age=0, must-revalidate';
    this.notModifiedBlock = `etag\0${this.etag}\0cache-control\0${caching}\0`;
    this.headerBlock = `content-type\0${file.type}\0${this.notModifiedBlock}accept-ranges\0bytes\0`;
  }
}

/** What is known of an artifact: made on its first request, gone with it. */
interface Known {
  readonly stored: Map<string, StoredFile>;
  /** Paths without escapes that led to something: at most a handful for each file, so that it needs no bound. */
  readonly targets: Map<string, AssetTarget>;
}

export function createAssetServer(options: { readonly cacheBytesMax?: number } = {}): AssetServer {
  const known = new WeakMap<OpenArtifact, Known>();
  const room = options.cacheBytesMax ?? cacheBytesMax;
  const cached: StoredFile[] = [];
  let cachedBytes = 0;
  let hand = 0;

  function knownOf(artifact: OpenArtifact): Known {
    let found = known.get(artifact);
    if (found === undefined) known.set(artifact, (found = { stored: new Map(), targets: new Map() }));
    return found;
  }

  function storedFile(artifact: OpenArtifact, key: string): StoredFile {
    const { stored } = knownOf(artifact);
    let file = stored.get(key);
    if (file === undefined) {
      file = new StoredFile(artifact.id, artifact.assetFile(key), key, artifact.manifest.assets!.files[key]!);
      stored.set(key, file);
    }
    return file;
  }

  function targetOf(artifact: OpenArtifact, target: string): { path: string | null; found: AssetTarget | null } {
    const { targets } = knownOf(artifact);
    const remembered = targets.get(target);
    if (remembered !== undefined) return { path: target, found: remembered };
    const path = decodedPath(target);
    if (path === null) return { path, found: null };
    const found = assetTarget(artifact.manifest.assets!.files, path);
    if (found !== null && path === target) targets.set(target, found);
    return { path, found };
  }

  function answer(request: AssetRequest, artifact: OpenArtifact, last = false): AssetAnswer | null {
    const rules = artifact.manifest.assets;
    if (rules === null) return last ? problem('asset_not_found') : null;
    const { path, found } = targetOf(artifact, request.target);
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (!reads) {
      if (!last) return null;
      return found === null ? problem('asset_not_found') : problem('method_not_allowed', { method: request.method }, 'allow\0GET, HEAD\0');
    }
    if (found !== null) {
      if ('file' in found) return fileAnswer(request, storedFile(artifact, found.file));
      const query = request.target.indexOf('?');
      const location = encodeURI(found.redirect).replace(/[?#]/g, encodeURIComponent) + (query < 0 ? '' : request.target.slice(query));
      return { status: 307, headerBlock: `location\0${location}\0cache-control\0public, max-age=0, must-revalidate\0`, body: '' };
    }
    if (path === null) return last ? problem('bad_request', { reason: 'the path is malformed' }) : null;
    const navigates = isNavigation(request);
    if (rules.notFoundHandling === 'single-page-application' && navigates && Object.hasOwn(rules.files, 'index.html')) {
      return fileAnswer(request, storedFile(artifact, 'index.html'));
    }
    if (rules.notFoundHandling === '404-page' && (navigates || last)) {
      const page = notFoundPage(rules.files, path);
      if (page !== null) {
        const file = storedFile(artifact, page);
        const headerBlock = `content-type\0${file.file.type}\0cache-control\0public, max-age=0, must-revalidate\0`;
        return { status: 404, headerBlock, body: { file, start: 0, end: file.file.bytes } };
      }
    }
    return last ? problem('asset_not_found') : null;
  }

  /** Keeps a small file; drops others that were not used since the hand last passed them. */
  function keep(file: StoredFile, bytes: Uint8Array): void {
    if (bytes.byteLength > room) return;
    while (cachedBytes + bytes.byteLength > room) {
      if (hand >= cached.length) hand = 0;
      const other = cached[hand]!;
      if (other.used) {
        other.used = false;
        hand++;
        continue;
      }
      cachedBytes -= other.bytes!.byteLength;
      other.bytes = null;
      const end = cached.pop()!;
      if (end !== other) cached[hand] = end;
    }
    file.bytes = bytes;
    cached.push(file);
    cachedBytes += bytes.byteLength;
  }

  /** A small file whole, from memory or into it; its hash is checked when it is read. */
  function load(file: StoredFile): Promise<Uint8Array> {
    file.loading ??= readFile(file.path)
      .then(
        (bytes) => {
          if (createHash('sha256').update(bytes).digest('hex') !== file.file.hash) throw corrupt(file, 'does not match its hash');
          keep(file, bytes);
          return bytes;
        },
        (error: Error) => {
          throw corrupt(file, 'cannot be read', error);
        },
      )
      .finally(() => {
        file.loading = null;
      });
    return file.loading;
  }

  async function* read({ file, start, end }: AssetBody): AsyncGenerator<Uint8Array, void, undefined> {
    if (file.file.bytes <= smallBytesMax) {
      file.used = true;
      const bytes = file.bytes ?? (await load(file));
      if (end > start) yield bytes.subarray(start, end);
      return;
    }
    const handle = await open(file.path).catch((error: Error) => {
      throw corrupt(file, 'cannot be read', error);
    });
    try {
      if ((await handle.stat()).size !== file.file.bytes) throw corrupt(file, 'does not have its size');
      for (let at = start; at < end;) {
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(Math.min(chunkBytes, end - at)), 0, undefined, at);
        if (bytesRead === 0) throw corrupt(file, 'does not have its size');
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  }

  function serve(exchange: Exchange, artifact: OpenArtifact, last = false): boolean {
    const found = answer(exchange, artifact, last);
    if (found === null) return false;
    const { status, headerBlock, body } = found;
    if (body === null || typeof body === 'string') exchange.send(status, headerBlock, body);
    else if (exchange.method === 'HEAD') exchange.send(status, `${headerBlock}content-length\0${body.end - body.start}\0`, null);
    else if (body.file.bytes !== null) {
      body.file.used = true;
      exchange.send(
        status,
        headerBlock,
        body.end - body.start === body.file.bytes.byteLength ? body.file.bytes : body.file.bytes.subarray(body.start, body.end),
      );
    } else void send(exchange, status, headerBlock, body);
    return true;
  }

  /** A body that is not in memory: whole when it is small, else piece by piece as the client takes it. */
  async function send(exchange: Exchange, status: number, headerBlock: string, body: AssetBody): Promise<void> {
    let begun = false;
    let gone = false;
    let wake: (() => void) | null = null;
    exchange.onAbort = () => {
      gone = true;
      wake?.();
    };
    exchange.onDrain = () => wake?.();
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

  return { serve, answer, read };
}

/** A file that is there: whole, a part of it, or only word that it has not changed. */
function fileAnswer(request: AssetRequest, file: StoredFile): AssetAnswer {
  const bytes = file.file.bytes;
  const condition = request.header('if-none-match');
  if (condition !== null && noneMatch(condition, file.etag)) return { status: 304, headerBlock: file.notModifiedBlock, body: null };
  const range = request.method === 'GET' ? request.header('range') : null;
  if (range !== null) {
    const asked = requestedRange(range, request.header('if-range'), file.etag, bytes);
    if (asked.kind === 'unsatisfiable') {
      return { status: 416, headerBlock: `content-range\0bytes */${bytes}\0${file.notModifiedBlock}`, body: '' };
    }
    if (asked.kind === 'part') {
      const headerBlock = `${file.headerBlock}content-range\0bytes ${asked.start}-${asked.end - 1}/${bytes}\0`;
      return { status: 206, headerBlock, body: { file, start: asked.start, end: asked.end } };
    }
  }
  return { status: 200, headerBlock: file.headerBlock, body: { file, start: 0, end: bytes } };
}

function problem(
  code: 'asset_not_found' | 'method_not_allowed' | 'bad_request' | 'artifact_corrupt' | 'internal',
  details: PlatformError['details'] = {},
  more = '',
): AssetAnswer {
  return {
    status: errorTable[code].status,
    headerBlock: `content-type\0text/plain;charset=utf-8\0cache-control\0no-store\0${more}`,
    body: `${errorMessage(code, details)}\n`,
  };
}

function corrupt(file: StoredFile, reason: string, cause?: Error): PlatformError {
  return new PlatformError('artifact_corrupt', { artifact: file.artifact, reason: `an asset ${reason}` }, { cause });
}

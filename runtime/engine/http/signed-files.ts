// Signed URLs that let anyone read or write one file for a limited time (`createSignedUrl` of the file binding). A
// worker creates them, and the app's host serves them without entering an isolate. The token in the URL contains the
// permissions and is signed, so no state is stored.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PlatformError } from '#core/errors.ts';
import type { FileHead, FilePlace, FileStore, SignUrl } from '../bindings/files.ts';
import type { Exchange } from './listener.ts';

/** Path prefix of signed URLs; workers get no requests below it. */
export const SIGNED_FILES_PATH = '/_platform/files/';

/** Content of a token. */
interface Grant {
  /** Namespace, resource, key. */
  readonly at: readonly [string, string, string];
  readonly method: 'GET' | 'PUT';
  /** ms since 1970. */
  readonly until: number;
  readonly sizeMax: number | null;
}

/** The signed URLs of a handler. */
export interface SignedFiles {
  /** @param origin such as `https://shop.example.org`. */
  sign(origin: string, ...grant: Parameters<SignUrl>): string;
  /** Responds to a request below {@link SIGNED_FILES_PATH} on a host whose project uses the namespace. */
  serve(exchange: Exchange, namespace: string): void;
}

/** @param key the secret for signatures, which is the same for all engines that share the files. */
export function createSignedFiles(
  store: FileStore,
  key: Uint8Array,
  bodyBytesMax: number,
  now: () => number = Date.now,
): SignedFiles {
  const signatureOf = (text: string): Buffer => createHmac('sha256', key).update(`file ${text}`).digest();

  function parse(token: string): Grant | null {
    const dot = token.indexOf('.');
    const text = token.slice(0, dot);
    const signature = Buffer.from(token.slice(dot + 1), 'base64url');
    const expected = signatureOf(text);
    if (dot < 0 || signature.length !== expected.length || !timingSafeEqual(signature, expected)) return null;
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Grant;
  }

  async function read(exchange: Exchange, place: FilePlace, name: string): Promise<void> {
    const range = rangeOf(exchange.header('range'));
    const tag = exchange.header('if-none-match');
    const onlyIf =
      tag === null
        ? null
        : { etagDoesNotMatch: tag.split(',').map((one) => one.trim().replace(/^(?:W\/)?"(.*)"$/, '$1')) };
    if (exchange.method === 'HEAD') {
      const head = await store.head(place, name);
      if (head === null) refuse(exchange, 404, 'No such file');
      else exchange.send(200, `${headOf(head)}content-length\0${head.size}\0`, null);
      return;
    }
    let gone = false;
    const leave = (): void => void (gone = true);
    exchange.onAbort = leave;
    const found = await store.get(place, name, { range, onlyIf }).catch((error: Partial<PlatformError>) => {
      if (range === null || error.code !== 'invalid_argument') throw error;
      return 'behind the end' as const;
    });
    if (found === 'behind the end') {
      const size = (await store.head(place, name))?.size ?? 0;
      refuse(
        exchange,
        416,
        `The range begins after the end of the file (${size} bytes)`,
        `content-range\0bytes */${size}\0`,
      );
      return;
    }
    if (gone) {
      found?.body?.destroy();
      return;
    }
    if (found === null) {
      refuse(exchange, 404, 'No such file');
      return;
    }
    const { head, body } = found;
    if (body === null) {
      exchange.send(304, headOf(head), null);
      return;
    }
    const { offset, length } = found.range;
    const partial = range === null ? '' : `content-range\0bytes ${offset}-${offset + length - 1}/${head.size}\0`;
    const onAbort = (): void => void body.destroy();
    const onDrain = (): void => void body.resume();
    exchange.onAbort = onAbort;
    exchange.onDrain = onDrain;
    exchange.begin(range === null ? 200 : 206, `${headOf(head)}${partial}content-length\0${length}\0`);
    body.on('data', (chunk: Uint8Array) => {
      if (!exchange.write(chunk, true)) body.pause();
    });
    body.on('end', () => exchange.end());
    body.on('error', () => exchange.destroy());
  }

  async function write(exchange: Exchange, place: FilePlace, name: string, sizeMax: number | null): Promise<void> {
    const bytesMax = Math.min(sizeMax ?? Number.MAX_SAFE_INTEGER, bodyBytesMax);
    if (exchange.bodyBytes > bytesMax) {
      refuse(exchange, 413, `The file may have ${bytesMax} bytes`);
      return;
    }
    const body = new Readable({ read: () => exchange.resumeBody() });
    // Until the store reads the body, the body has no other error listener.
    body.on('error', () => {});
    const onAbort = (): void => void body.destroy(new Error('client disconnected'));
    exchange.onAbort = onAbort;
    if (exchange.bodyBytes === 0) body.push(null);
    else exchange.readBody({ chunk: (bytes) => body.push(bytes), end: () => void body.push(null) });
    const contentType = exchange.header('content-type');
    const headers = contentType === null ? {} : { contentType };
    const head = await store.put(place, name, body, { headers, metadata: {}, onlyIf: null, digests: {}, bytesMax });
    exchange.send(200, JSON_HEADERS, JSON.stringify({ key: name, size: head?.size, etag: head?.etag }));
  }

  return {
    sign(origin, { namespace, resource }, name, { method, expiresInSeconds, sizeMax }) {
      const grant: Grant = { at: [namespace, resource, name], method, until: now() + expiresInSeconds * 1000, sizeMax };
      const text = Buffer.from(JSON.stringify(grant)).toString('base64url');
      return `${origin}${SIGNED_FILES_PATH}${text}.${signatureOf(text).toString('base64url')}`;
    },
    serve(exchange, namespace) {
      const grant = parse(exchange.target.slice(SIGNED_FILES_PATH.length).replace(/\?.*$/s, ''));
      const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
      if (exchange.method === 'OPTIONS') exchange.send(204, PREFLIGHT_HEADERS, null);
      else if (grant === null || grant.at[0] !== namespace) refuse(exchange, 403, 'The address is not valid');
      else if (grant.until <= now()) refuse(exchange, 403, 'The address has expired');
      else if (method !== grant.method)
        refuse(exchange, 405, `The address is for ${grant.method}`, `allow\0${grant.method}\0`);
      else {
        const place = { namespace, resource: grant.at[1] };
        const done =
          grant.method === 'GET'
            ? read(exchange, place, grant.at[2])
            : write(exchange, place, grant.at[2], grant.sizeMax);
        done.catch((error: Partial<PlatformError>) => {
          if (error.code === 'invalid_argument') refuse(exchange, 400, String(error.message));
          else if (error.code === 'quota_exceeded' || error.code === 'disk_full')
            refuse(exchange, 507, String(error.message));
          else refuse(exchange, 500, 'Internal error');
        });
      }
    },
  };
}

// Pages of any origin may use the URL, because its possession is the permission.
const OPEN_HEADERS = 'access-control-allow-origin\0*\0';
const JSON_HEADERS = `content-type\0application/json\0${OPEN_HEADERS}`;
const PREFLIGHT_HEADERS = `${OPEN_HEADERS}access-control-allow-methods\0GET, HEAD, PUT\0access-control-allow-headers\0content-type, range\0access-control-max-age\x0086400\0`;

function refuse(exchange: Exchange, status: number, error: string, headers = ''): void {
  exchange.send(status, `${JSON_HEADERS}cache-control\0no-store\0${headers}`, JSON.stringify({ error }));
}

function headOf({ etag, headers, uploadedAt }: FileHead): string {
  const { contentType, contentDisposition, contentEncoding, contentLanguage, cacheControl } = headers;
  const fields: [string, string | undefined][] = [
    ['etag', `"${etag}"`],
    ['last-modified', new Date(uploadedAt).toUTCString()],
    ['content-type', contentType ?? 'application/octet-stream'],
    ['content-disposition', contentDisposition],
    ['content-encoding', contentEncoding],
    ['content-language', contentLanguage],
    ['cache-control', cacheControl ?? 'private'],
    ['accept-ranges', 'bytes'],
    // A file from a user must not run as a page of the app.
    ['content-security-policy', 'sandbox'],
    ['x-content-type-options', 'nosniff'],
  ];
  return OPEN_HEADERS + fields.map(([name, value]) => (value === undefined ? '' : `${name}\0${value}\0`)).join('');
}

function rangeOf(header: string | null): { offset: number; length?: number } | { suffix: number } | null {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (from === undefined || (from === '' && to === '')) return null;
  // HTTP requires that an invalid range is ignored.
  if (from !== '' && to !== '' && Number(to) < Number(from)) return null;
  if (from === '') return { suffix: Number(to) };
  return { offset: Number(from), ...(to === '' ? {} : { length: Number(to) - Number(from) + 1 }) };
}

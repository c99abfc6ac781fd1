// Reads client input: query, JSON, forms, texts. The length, the type and names are not trusted.
import { HttpError, invalidRequest } from './failure.ts';

/** Default size limit of a body. */
export const bodyBytesMax = 1024 * 1024;

/** How a route's body is read. */
export interface BodyRule {
  readonly type: 'json' | 'form' | 'text';
  readonly bytesMax: number;
}

/** Parses a query string without its `?`; a repeated key becomes an array. Decodes as in the URL standard. */
export function parseQuery(text: string): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  if (text === '') return result;
  for (const part of text.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    addText(
      result,
      decodeText(at < 0 ? part : part.slice(0, at)),
      at < 0 ? '' : decodeText(part.slice(at + 1)),
      'query',
    );
  }
  return result;
}

function addText(result: Record<string, string | string[]>, key: string, value: string, part: 'query' | 'body'): void {
  if (key === '__proto__') throw invalidRequest([{ path: [key], message: 'is a name that is not allowed' }], part);
  if (!Object.hasOwn(result, key)) result[key] = value;
  else {
    const known = result[key]!;
    if (typeof known === 'string') result[key] = [known, value];
    else known.push(value);
  }
}

function decodeText(text: string): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text);
  } catch {
    // A lone percent sign is kept, invalid UTF-8 becomes U+FFFD.
    return [...new URLSearchParams(`x=${text}`)][0]?.[1] ?? '';
  }
}

/** Reads a body by its rule; `undefined` if there is none. @throws HttpError 400, 413 or 415. */
export function readBody(request: Request, rule: BodyRule): Promise<unknown> | undefined {
  const { headers } = request;
  const declared = headers.get('content-length');
  // `request.body` creates a stream from a text: it is read only if no length shows whether there is a body.
  if (declared === null ? request.body === null : declared === '0') return undefined;
  const type = mediaType(headers.get('content-type'));
  if (!isExpected(type, rule.type))
    throw new HttpError(415, 'Unsupported Media Type', { headers: { accept: accepted[rule.type] } });
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new HttpError(415, 'Unsupported content encoding', { headers: { 'accept-encoding': 'identity' } });
  if (declared !== null && Number(declared) > rule.bytesMax) throw tooLong(rule);
  if (type.name === 'multipart/form-data') return readMultipart(request, rule);
  // The server has enforced the declared length.
  if (declared !== null) return request.text().then((text) => readText(text, rule));
  return bytesOf(request, rule).then((bytes) => readText(new TextDecoder().decode(bytes), rule));
}

function readText(text: string, { type }: BodyRule): unknown {
  if (type === 'json') return text === '' ? undefined : parseJson(text);
  return type === 'form' ? readUrlEncoded(text) : text;
}

async function readMultipart(request: Request, rule: BodyRule): Promise<unknown> {
  return readForm(await formOf(request, await bytesOf(request, rule)));
}

const accepted = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded, multipart/form-data',
  text: 'text/*',
} as const;

interface MediaType {
  readonly name: string;
  readonly charset: string;
}

function mediaType(header: string | null): MediaType {
  if (header === plainJson.name) return plainJson;
  const [name = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  const charset = parameters
    .map((part) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(part)?.[1])
    .find((found) => found !== undefined);
  return { name: name.trim(), charset: charset ?? 'utf-8' };
}

const plainJson: MediaType = { name: 'application/json', charset: 'utf-8' };

function isExpected(media: MediaType, type: BodyRule['type']): boolean {
  if (media === plainJson) return type === 'json';
  const { name, charset } = media;
  if (charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') return false;
  if (type === 'json')
    return name === 'application/json' || (name.startsWith('application/') && name.endsWith('+json'));
  if (type === 'form') return name === 'application/x-www-form-urlencoded' || name === 'multipart/form-data';
  return name.startsWith('text/');
}

function tooLong({ bytesMax }: BodyRule): HttpError {
  return new HttpError(413, `The body is longer than ${bytesMax} bytes`);
}

/** Reads the bytes of a body, and stops as soon as they are too many. */
async function bytesOf(request: Request, rule: BodyRule): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body!.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.byteLength;
    if (length > rule.bytesMax) {
      void reader.cancel().catch(() => {});
      throw tooLong(rule);
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/**
 * Parses JSON, and refuses names that could change prototypes when the value is merged into another. @throws
 * HttpError 400.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpError(400, 'Malformed JSON');
  }
  // Only a text that could contain such a name is searched; escapes with `\u` can spell every name.
  if (text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')) refuseNames(value, []);
  return value;
}

function refuseNames(value: unknown, path: readonly (string | number)[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) refuseNames(item, [...path, at]);
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    const reaches =
      key === '__proto__' ||
      (key === 'constructor' && typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype'));
    if (reaches) throw invalidRequest([{ path: [...path, key], message: 'is a name that is not allowed' }], 'body');
    refuseNames(inner, [...path, key]);
  }
}

function readUrlEncoded(text: string): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const [key, value] of new URLSearchParams(text)) addText(result, key, value, 'body');
  return result;
}

async function formOf(request: Request, bytes: Uint8Array<ArrayBuffer>): Promise<FormData> {
  try {
    return await new Response(bytes, {
      headers: { 'content-type': request.headers.get('content-type') ?? '' },
    }).formData();
  } catch {
    throw new HttpError(400, 'Malformed form');
  }
}

function readForm(form: FormData): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key of new Set(form.keys())) {
    if (key === '__proto__') throw invalidRequest([{ path: [key], message: 'is a name that is not allowed' }], 'body');
    const values = form.getAll(key);
    result[key] = values.length === 1 ? values[0] : values;
  }
  return result;
}

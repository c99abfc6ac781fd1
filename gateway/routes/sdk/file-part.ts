// Converts files in AI SDK prompts to parts of chat-completions messages. In versions 2 and 3, `data` is a URL or
// base64; version 4 states which.
import { isJson, type Json } from '../../contract/chat.ts';
import { wrong } from '../../contract/request-body.ts';

/** The content of a file part. */
type Content =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'base64'; readonly base64: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'id'; readonly id: string };

/** First base64 characters -> media type, for files whose type is only `image` or `image/*`. */
const signatures: readonly (readonly [string, string])[] = [
  ['iVBOR', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lG', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBER', 'application/pdf'],
];
const WHOLE_TYPE = /^[a-z]+\/[^*]+$/i;
const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,/;
const audioFormats: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
};

/** @param providers the providers whose file ids are accepted. @throws {GatewayError} 400 */
export function filePart(part: Json, providers: readonly string[], at: string): Json {
  const { mediaType = '', filename } = part;
  if (typeof mediaType !== 'string') throw wrong(`${at}.mediaType`, 'a media type');
  if (filename !== undefined && typeof filename !== 'string') throw wrong(`${at}.filename`, 'a text');
  const content = contentOf(part['data'], providers, `${at}.data`);
  if (content.kind === 'text') return { type: 'text', text: content.text };
  if (content.kind === 'id') return { type: 'file', file: { file_id: content.id } };
  const [base64, type] = bytesOf(content, mediaType);
  const [kind] = type.split('/');
  if (kind === 'image' || kind === 'video') {
    const url = content.kind === 'url' && base64 === null ? content.url : dataUrl(type, base64!);
    return kind === 'image' ? { type: 'image_url', image_url: { url } } : { type: 'video_url', video_url: { url } };
  }
  if (base64 === null)
    throw wrong(`${at}.data`, `the bytes of the file: a URL of ${type || 'no media type'} does not pass`);
  if (kind === 'text') return { type: 'text', text: Buffer.from(base64, 'base64').toString('utf8') };
  const format = audioFormats[type.toLowerCase()];
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: base64, format } };
  if (!WHOLE_TYPE.test(type)) throw wrong(`${at}.mediaType`, 'a whole media type, such as application/pdf');
  return { type: 'file', file: { filename: filename ?? 'file', file_data: dataUrl(type, base64) } };
}

const dataUrl = (type: string, base64: string): string => `data:${type};base64,${base64}`;

function contentOf(data: unknown, providers: readonly string[], at: string): Content {
  if (typeof data === 'string') return /^(?:https?|data):/.test(data) ? { kind: 'url', url: data } : base64Of(data);
  if (!isJson(data)) throw wrong(at, 'a text or an object');
  const { type, text, url, reference } = data;
  if (type === 'data' && typeof data['data'] === 'string') return base64Of(data['data']);
  if (type === 'url' && typeof url === 'string') return { kind: 'url', url };
  if (type === 'text' && typeof text === 'string') return { kind: 'text', text };
  const id = isJson(reference) ? providers.map((name) => reference[name]).find((one) => typeof one === 'string') : null;
  if (type === 'reference' && typeof id === 'string') return { kind: 'id', id };
  throw wrong(at, 'data, a URL, a text or a reference of the provider that is called');
}

const base64Of = (base64: string): Content => ({ kind: 'base64', base64 });

/** The base64 text (null for an external URL), and the media type if known. */
function bytesOf(content: Content, mediaType: string): readonly [string | null, string] {
  if (content.kind === 'base64') return [content.base64, wholeType(mediaType, content.base64)];
  const url = content.kind === 'url' ? content.url : '';
  const found = DATA_URL.exec(url);
  if (found === null) return [null, mediaType];
  const base64 = url.slice(found[0].length);
  return [base64, wholeType(mediaType || found[1]!, base64)];
}

function wholeType(mediaType: string, base64: string): string {
  if (WHOLE_TYPE.test(mediaType)) return mediaType;
  return signatures.find(([start]) => base64.startsWith(start))?.[1] ?? mediaType;
}

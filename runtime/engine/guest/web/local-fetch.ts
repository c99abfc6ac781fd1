// `fetch` of URLs without a host: `blob:` and `data:` (Fetch Standard, scheme fetch and data: URL processor), all
// inside the isolate.
import { atob } from './base64.ts';
import { blobBytes, type Blob } from './blob.ts';
import { createIncomingResponse, type Response } from './response.ts';
import { percentDecodeBytes } from './url-encode.ts';

/** Whether `fetchLocal` handles a URL. */
export function isLocal(url: string): boolean {
  return url.startsWith('blob:') || url.startsWith('data:');
}

/**
 * @param blob the blob that the blob URL had when the request was made. @throws {TypeError} as the network error of the
 * standard.
 */
export function fetchLocal(method: string, url: string, blob: Blob | null): Response {
  if (url.startsWith('data:')) {
    const { type, bytes } = readDataUrl(url);
    return createIncomingResponse(200, 'OK', `content-type\0${type}\0`, bytes, url, false);
  }
  if (method !== 'GET') throw new TypeError(`A blob URL cannot be fetched with the method ${method}`);
  if (blob === null) throw new TypeError('There is no blob with this URL');
  const block = `content-length\0${blob.size}\0content-type\0${blob.type}\0`;
  return createIncomingResponse(200, 'OK', block, blobBytes(blob).slice(), url, false);
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const mediaType = new RegExp(`^${token}/${token}[\\t ]*(?:;|$)`);

function readDataUrl(url: string): { type: string; bytes: Uint8Array } {
  const hash = url.indexOf('#');
  const text = url.slice('data:'.length, hash < 0 ? url.length : hash);
  const comma = text.indexOf(',');
  if (comma < 0) throw new TypeError('A data: URL needs a comma');
  let type = text.slice(0, comma).trim();
  let bytes = percentDecodeBytes(text.slice(comma + 1));
  const encoded = /; *base64$/i.exec(type);
  if (encoded !== null) {
    type = type.slice(0, encoded.index).trimEnd();
    bytes = decodeBase64(bytes);
  }
  if (type.startsWith(';')) type = `text/plain${type}`;
  return { type: mediaType.test(type) ? type : 'text/plain;charset=US-ASCII', bytes };
}

function decodeBase64(bytes: Uint8Array): Uint8Array {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  let decoded: string;
  try {
    decoded = atob(text);
  } catch {
    throw new TypeError('The body of this data: URL is not base64');
  }
  const result = new Uint8Array(decoded.length);
  for (let at = 0; at < decoded.length; at++) result[at] = decoded.charCodeAt(at);
  return result;
}

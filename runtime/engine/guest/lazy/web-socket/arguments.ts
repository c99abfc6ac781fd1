// Checks and converts arguments of WebSockets as the WebSockets Standard requires. Sockets that the worker has not
// opened itself may be closed with more codes. Used by ../web-socket.ts.
import type { Part } from '../../../bridge/protocol.ts';
import { blobBytes, isBlob } from '../../web/blob.ts';
import { DOMException } from '../../web/dom-exception.ts';
import { isAnyArrayBuffer } from '../../web/text.ts';
import { URL } from '../../web/url.ts';
import { encodeUtf8 } from '../../web/utf8.ts';
import { toDomString, toUsvString } from '../../web/webidl.ts';

/** Code of a `close()` without a code, which means that there is no status. */
export const NO_CODE = 1005;
const REASON_BYTES_MAX = 123;
const TOKEN = /^[a-z0-9!#$%&'*+\-.^_`|~]+$/i;

/** @throws {DOMException} `SyntaxError` */
export function clientUrl(value: unknown): URL {
  let url: URL;
  try {
    url = new URL(toUsvString(value));
  } catch {
    throw new DOMException('The URL of a WebSocket is not valid', 'SyntaxError');
  }
  if (url.protocol === 'http:') url = new URL(`ws:${url.href.slice(5)}`);
  else if (url.protocol === 'https:') url = new URL(`wss:${url.href.slice(6)}`);
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:')
    throw new DOMException(`A WebSocket URL must use ws: or wss:, not ${url.protocol}`, 'SyntaxError');
  if (url.hash !== '' || url.href.endsWith('#'))
    throw new DOMException('A WebSocket URL must not have a fragment', 'SyntaxError');
  return url;
}

/** @throws {DOMException} `SyntaxError` */
export function clientProtocols(value: unknown): readonly string[] {
  const list =
    typeof value === 'object' && value !== null && Symbol.iterator in value
      ? [...(value as Iterable<unknown>)].map(toDomString)
      : [toDomString(value)];
  if (
    list.some((protocol) => !TOKEN.test(protocol)) ||
    new Set(list.map((protocol) => protocol.toLowerCase())).size !== list.length
  )
    throw new DOMException('The sub-protocols must be different tokens', 'SyntaxError');
  return list;
}

/** @param isClient whether `new WebSocket(url)` has created the socket. @throws {DOMException} */
export function closeArguments(
  code: unknown,
  reason: unknown,
  isClient: boolean,
): { readonly code: number; readonly reason: string } {
  const status = code === undefined ? NO_CODE : clampShort(code);
  if (code !== undefined && !(isClient ? status === 1000 || (status >= 3000 && status <= 4999) : mayServerSend(status)))
    throw new DOMException(
      `The close code ${String(code)} is not valid: ${isClient ? '1000 and 3000 to 4999 are' : '1000 to 4999 without 1004, 1005, 1006 and 1015 are'}`,
      'InvalidAccessError',
    );
  const text = reason === undefined ? '' : toUsvString(reason);
  if (encodeUtf8(text).byteLength > REASON_BYTES_MAX)
    throw new DOMException(`The reason is longer than ${REASON_BYTES_MAX} bytes`, 'SyntaxError');
  if (text !== '' && code === undefined) throw new DOMException('A reason needs a code', 'InvalidAccessError');
  return { code: status, reason: text };
}

/** [Clamp] unsigned short. */
function clampShort(value: unknown): number {
  const number = Number(value);
  return Number.isNaN(number) ? 0 : Math.min(Math.max(Math.round(number), 0), 65535);
}

function mayServerSend(code: number): boolean {
  return code >= 1000 && code <= 4999 && code !== 1004 && code !== 1005 && code !== 1006 && code !== 1015;
}

/** Copies a message, because the worker may continue to write to its buffer. */
export function toPart(data: unknown): Part {
  if (typeof data === 'string') return toUsvString(data);
  if (isAnyArrayBuffer(data)) return new Uint8Array(data).slice();
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  if (isBlob(data)) return blobBytes(data).slice();
  return toUsvString(data);
}

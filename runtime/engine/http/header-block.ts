// Reads and writes header blocks (`name\0value\0...`) for both listeners and the asset server. Pure, and independent
// of sockets. Blocks from workers are not trusted: a block is sent only through `responseHead`.
import { PlatformError } from '#core/errors.ts';
import { namesDomain, ownCookies } from './cookie-domains.ts';

/**
 * Matches valid blocks: names in lower case, and values of visible Latin-1, spaces and tabs. Neither can contain CR, LF
 * or NUL. One linear pass over the block is much cheaper than a check per header.
 */
const LEGAL_BLOCK = /^(?:[a-z0-9!#$%&'*+\-.^_`|~]+\0[\t\x20-\x7e\x80-\xff]*\0)*$/;

/** Maximum length of a response block; the limits of all clients are far lower. */
const BLOCK_CHARS_MAX = 256 * 1024;

/**
 * Whether a header, given in lower case, belongs to one connection: it is never forwarded, and workers cannot set it.
 */
export function isHopByHop(name: string): boolean {
  switch (name.length) {
    case 2:
      return name === 'te';
    case 7:
      return name === 'upgrade' || name === 'trailer';
    case 10:
      return name === 'connection' || name === 'keep-alive';
    case 16:
      return name === 'proxy-connection';
    case 17:
      return name === 'transfer-encoding';
    default:
      return false;
  }
}

/** The first value of a header in a block. The name must be in lower case. */
export function headerIn(block: string, name: string): string | null {
  let at = 0;
  while (at < block.length) {
    const nameEnd = block.indexOf('\0', at);
    if (nameEnd < 0) return null;
    const valueEnd = block.indexOf('\0', nameEnd + 1);
    if (valueEnd < 0) return null;
    if (nameEnd - at === name.length && block.startsWith(name, at)) return block.slice(nameEnd + 1, valueEnd);
    at = valueEnd + 1;
  }
  return null;
}

/**
 * Normalizes a Host header for route lookup and URLs: lower case, with the port if there is one. Null if the value is
 * not a host name or address: a valid one can be put between `http://` and a path without changing the URL's meaning.
 */
export function hostFrom(value: string): string | null {
  const host = value.toLowerCase();
  return /^(?:[a-z0-9_](?:[a-z0-9._-]*)|\[[0-9a-f:.]{2,45}\])(?::(?:[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?$/.test(
    host,
  ) && host.length <= 260
    ? host
    : null;
}

/**
 * The path and query of a request target in origin form or absolute form (`http://host/path`), and the host of the
 * latter, which overrides the Host header (RFC 9112 3.2.2). Null for any other form.
 */
export function targetParts(target: string): { target: string; host: string | null } | null {
  if (target.charCodeAt(0) === 0x2f) return { target, host: null };
  const absolute = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target);
  if (absolute === null) return null;
  const rest = absolute[2]!;
  return { target: rest.charCodeAt(0) === 0x2f ? rest : `/${rest}`, host: absolute[1]! };
}

/** The headers of a response, checked and ready for a listener. */
export interface ResponseHead {
  /** Names and values, alternating, without hop-by-hop headers and `content-length`. */
  readonly pairs: readonly string[];
  /** The headers as lines in Latin-1, each ended by CR LF. */
  readonly lines: string;
  /** Whether the headers are ASCII. */
  readonly isAscii: boolean;
  readonly hasDate: boolean;
  readonly hasRequestId: boolean;
  /** The `content-length` of the block; -1 if the block has none. */
  readonly declaredBytes: number;
  /** Whether a cookie has a `Domain` attribute. */
  readonly namesDomain: boolean;
}

/**
 * Validates a response block and removes the headers that the listener sets itself.
 *
 * @throws {PlatformError} `illegal_response` for a name or value that may not be sent, or a bad `content-length`; the
 * message names it.
 */
function responseHead(block: string): ResponseHead {
  if (block.length > BLOCK_CHARS_MAX)
    throw new PlatformError('illegal_response', { what: `header block of more than ${BLOCK_CHARS_MAX} bytes` });
  if (!LEGAL_BLOCK.test(block)) throw new PlatformError('illegal_response', { what: illegalHeader(block) });
  const pairs: string[] = [];
  let lines = '';
  let hasDate = false;
  let hasRequestId = false;
  let declaredBytes = -1;
  let withDomain = false;
  let at = 0;
  while (at < block.length) {
    const nameEnd = block.indexOf('\0', at);
    const valueEnd = block.indexOf('\0', nameEnd + 1);
    const name = block.slice(at, nameEnd);
    const value = block.slice(nameEnd + 1, valueEnd);
    at = valueEnd + 1;
    if (isHopByHop(name)) continue;
    if (name === 'content-length') {
      const bytes = /^\d{1,15}$/.test(value) ? Number(value) : -1;
      if (bytes < 0) throw new PlatformError('illegal_response', { what: NO_LENGTH });
      if (declaredBytes >= 0 && declaredBytes !== bytes)
        throw new PlatformError('illegal_response', { what: 'content-length' });
      declaredBytes = bytes;
      continue;
    }
    if (name === 'date') hasDate = true;
    else if (name === 'x-request-id') hasRequestId = true;
    else if (name === 'set-cookie') withDomain ||= namesDomain(value);
    pairs.push(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return {
    pairs,
    lines,
    isAscii: Buffer.byteLength(lines) === lines.length,
    hasDate,
    hasRequestId,
    declaredBytes,
    namesDomain: withDomain,
  };
}

const NO_LENGTH = 'content-length, which is not a number';

/** A block without its content-length, if the block was refused for it; null otherwise. */
export function withoutInvalidLength(block: string, refused: unknown): string | null {
  const { code, details } = refused as { code?: unknown; details?: { what?: unknown } };
  if (code !== 'illegal_response' || details?.what !== NO_LENGTH) return null;
  return block.replace(/(?<=^|\0)content-length\0[^\0]*\0/g, '');
}

/** The name of the illegal header in a block, for the message, which never contains its value. */
function illegalHeader(block: string): string {
  const fields = block.split('\0');
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (!LEGAL_BLOCK.test(`${fields[i]}\0${fields[i + 1]}\0`)) return `header ${JSON.stringify(fields[i])}`;
  }
  return 'header block';
}

/** Number of slots of {@link HeadCache}; blocks longer than `HEAD_CHARS_MAX` are not kept. */
const HEAD_SLOTS = 32;
const HEAD_CHARS_MAX = 1024;

/**
 * Cache of a listener's last response heads. Workers usually send the same few blocks repeatedly, and comparing two
 * equal strings is ten times faster than checking and splitting one.
 */
export class HeadCache {
  readonly #blocks: string[] = Array.from({ length: HEAD_SLOTS }, () => '');
  readonly #heads: ResponseHead[] = Array.from({ length: HEAD_SLOTS }, () => EMPTY_HEAD);
  readonly #domains: readonly string[];

  /** @param domains the platform's own domains, for which no cookie may be set. */
  constructor(domains: readonly string[] = []) {
    this.#domains = domains;
  }

  /**
   * Like {@link responseHead}, without cookies for hosts other than the exchange's host. Removed cookies are listed in
   * `refusedCookies`.
   */
  get(block: string, exchange: { readonly host: string; refusedCookies: string }): ResponseHead {
    const head = this.#head(block);
    if (!head.namesDomain) return head;
    const own = ownCookies(block, exchange.host, this.#domains);
    if (own.refused === '') return head;
    exchange.refusedCookies = own.refused;
    return responseHead(own.block);
  }

  /**
   * The head of a final response.
   *
   * @throws {PlatformError} `illegal_response`, also for a status that no such response has.
   */
  ofAnswer(status: number, block: string, exchange: { readonly host: string; refusedCookies: string }): ResponseHead {
    if (!(status >= 200 && status <= 599 && Number.isInteger(status)))
      throw new PlatformError('illegal_response', { what: `status ${String(status)}` });
    return this.get(block, exchange);
  }

  #head(block: string): ResponseHead {
    const slot = block.length % HEAD_SLOTS;
    if (this.#blocks[slot] === block) return this.#heads[slot]!;
    const head = responseHead(block);
    if (block.length <= HEAD_CHARS_MAX) {
      this.#blocks[slot] = block;
      this.#heads[slot] = head;
    }
    return head;
  }
}

const EMPTY_HEAD: ResponseHead = {
  pairs: [],
  lines: '',
  isAscii: true,
  hasDate: false,
  hasRequestId: false,
  declaredBytes: -1,
  namesDomain: false,
};

/** The value of a `date` header, which the first request of each second renews. */
export class DateHeader {
  #second = 0;
  #text = '';

  text(): string {
    const now = Date.now();
    const second = Math.trunc(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(now).toUTCString();
    }
    return this.#text;
  }
}

/** Whether a response with this status to this method is sent with a body. */
export function hasBody(method: string, status: number): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304;
}

// The host parser and serializer of the URL Standard (section 3.5): domains, IPv4, IPv6, opaque hosts.
// Internationalized names need tables on the host.
import { host as bridge } from '../host.ts';
import { encodeSets, percentDecode, percentEncode } from './url-encode.ts';

const forbiddenHost = /[\0\t\n\r #/:<>?@[\\\]^|]/;
// oxlint-disable-next-line no-control-regex
const forbiddenDomain = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;
// oxlint-disable-next-line no-control-regex
const ascii = /^[\0-\x7f]*$/;
const punycodeLabel = /(?:^|\.)xn--/i;

/** The serialised host of a URL, or null when it is not valid. */
export function parseHost(input: string, isSpecial: boolean): string | null {
  if (input.charCodeAt(0) === 91) return input.endsWith(']') ? parseIpv6(input.slice(1, -1)) : null;
  if (!isSpecial) return forbiddenHost.test(input) ? null : percentEncode(input, encodeSets.control);
  const domain = percentDecode(input);
  if (forbiddenDomain.test(domain)) return null;
  const name = ascii.test(domain) && !punycodeLabel.test(domain) ? domain.toLowerCase() : domainToAscii(domain);
  if (name === null || name === '' || forbiddenDomain.test(name)) return null;
  return endsInNumber(name) ? parseIpv4(name) : name;
}

const knownDomains = new Map<string, string | null>();

function domainToAscii(domain: string): string | null {
  let result = knownDomains.get(domain);
  if (result !== undefined) return result;
  const answer = bridge.callSync('url.domainToAscii', { domain: domain.toWellFormed() }) as string;
  result = answer === '' ? null : answer;
  if (knownDomains.size >= 100) knownDomains.clear();
  knownDomains.set(domain, result);
  return result;
}

/** Whether a host's last label is a number, which makes the host an IPv4 address or an error. */
function endsInNumber(name: string): boolean {
  const labels = name.split('.');
  if (labels.at(-1) === '') {
    if (labels.length === 1) return false;
    labels.pop();
  }
  const last = labels.at(-1)!;
  return /^[0-9]+$/.test(last) || /^0[xX][0-9a-fA-F]*$/.test(last);
}

function parseIpv4Number(text: string): number {
  if (text === '') return Number.NaN;
  if (/^0[xX]/.test(text)) {
    const digits = text.slice(2);
    if (digits === '') return 0;
    return /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
  }
  if (text.length > 1 && text.charCodeAt(0) === 48)
    return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
  return /^[0-9]+$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
}

function parseIpv4(name: string): string | null {
  const parts = name.split('.');
  if (parts.at(-1) === '' && parts.length > 1) parts.pop();
  if (parts.length > 4) return null;
  const numbers = parts.map(parseIpv4Number);
  const last = numbers.pop()!;
  if (!(last < 256 ** (4 - numbers.length))) return null;
  let address = last;
  for (const [index, number] of numbers.entries()) {
    if (!(number <= 255)) return null;
    address += number * 256 ** (3 - index);
  }
  return `${Math.floor(address / 0x1000000)}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}

function parseIpv6(text: string): string | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const head = parsePieces(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parsePieces(halves[1]!, true) : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  return `[${serialiseIpv6([...head, ...Array<number>(missing).fill(0), ...tail])}]`;
}

/** The 16-bit pieces of one side of `::`; only the last piece may be a dotted IPv4 address. */
function parsePieces(text: string, atExit: boolean): number[] | null {
  if (text === '') return [];
  const pieces: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) pieces.push(Number.parseInt(part, 16));
    else if (
      atExit &&
      index === parts.length - 1 &&
      /^(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2})$/.test(part)
    ) {
      const [a, b, c, d] = part.split('.').map(Number) as [number, number, number, number];
      if (a > 255 || b > 255 || c > 255 || d > 255) return null;
      pieces.push(a * 256 + b, c * 256 + d);
    } else return null;
  }
  return pieces.length <= 8 ? pieces : null;
}

/** The longest run of two or more zero pieces is written as `::`; if several are the longest, the first one. */
function serialiseIpv6(pieces: readonly number[]): string {
  let start = -1;
  let length = 1;
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (end < 8 && pieces[end] === 0) end++;
    if (end - at > length) {
      start = at;
      length = end - at;
    }
    if (end > at) at = end;
  }
  const hex = pieces.map((piece) => piece.toString(16));
  return start < 0 ? hex.join(':') : `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

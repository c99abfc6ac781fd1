// Reads the platform's own cookies in requests, and removes them before a worker receives the request. Used by gates.ts
// and skew-protection.ts. Pure.
import { headerIn } from './header-block.ts';

/** Further cookies of the same name are ignored. */
const SAME_MAX = 8;

/** The values of a cookie in a block of request headers. */
export function cookieValues(block: string, name: string): string[] {
  const header = headerIn(block, 'cookie');
  return header === null ? [] : valuesIn(header, name);
}

/** The first value of a cookie in a `cookie` header. */
export function cookieIn(header: string, name: string): string | null {
  return valuesIn(header, name)[0] ?? null;
}

function valuesIn(header: string, name: string): string[] {
  if (!header.includes(name)) return [];
  const values: string[] = [];
  for (const pair of header.split(';')) {
    const [key, ...value] = pair.trim().split('=');
    if (key === name && values.length < SAME_MAX) values.push(value.join('='));
  }
  return values;
}

/** Returns a block without these cookies and headers, whose names are in lower case. */
export function withoutSecrets(block: string, cookies: readonly string[], headers: readonly string[]): string {
  const isIn = (name: string): boolean => block.includes(name);
  if (!cookies.some(isIn) && !headers.some(isIn)) return block;
  const fields = block.split('\0');
  let kept = '';
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at]!;
    let value = fields[at + 1]!;
    if (headers.includes(name)) continue;
    if (name === 'cookie') {
      const pairs = value.split(';').filter((pair) => !cookies.includes(pair.trim().split('=', 1)[0]!));
      if (pairs.length === 0) continue;
      value = pairs.join(';').trim();
    }
    kept += `${name}\0${value}\0`;
  }
  return kept;
}

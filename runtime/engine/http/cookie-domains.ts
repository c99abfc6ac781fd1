// Which cookies a response may set: those that no other project's host gets back. A `Domain` that names a parent of the
// platform's hosts would give the browser cookies for all of them. Used by header-block.ts; pure, and read by no
// request without one.
import { isIP } from 'node:net';

/** Attributes as browsers see them: after a semicolon, in any case, quoted or not; the name of a cookie is none. */
const DOMAIN_ATTRIBUTE = /;\s*domain\s*=([^;]*)/gi;

/** Whether a `set-cookie` header says for which hosts it is. */
export function namesDomain(cookie: string): boolean {
  return cookie.includes(';') && cookie.search(DOMAIN_ATTRIBUTE) >= 0;
}

/**
 * Whether a cookie goes back to no other project: below the platform's domains only to the host that set it; a host of
 * its own domain may set one for a parent (`www.shop.com` for `shop.com`), which browsers bound by the Public Suffix
 * List.
 *
 * @param host of the request, with its port if any.
 * @param platform the platform's own domains, below which all projects lie: no cookie is for one of them or a parent of
 *   it.
 */
export function isOwnCookie(cookie: string, host: string, platform: readonly string[]): boolean {
  const own = host.replace(/:\d*$/, '').replace(/\.$/, '');
  const mayNameParent = isIP(own) === 0 && !platform.some((name) => own === name || own.endsWith(`.${name}`));
  for (const [, value] of cookie.matchAll(DOMAIN_ATTRIBUTE)) {
    const text = value!.trim().toLowerCase();
    // Without a value it is as if it were not there.
    if (text === '') continue;
    const domain = text.replace(/^\./, '').replace(/\.$/, '');
    if (domain !== own && !(mayNameParent && domain !== '' && own.endsWith(`.${domain}`))) return false;
    if (platform.some((name) => name === domain || name.endsWith(`.${domain}`))) return false;
  }
  return true;
}

/** A response block without the cookies that are not the host's own, and for the log what is not sent. */
export function ownCookies(
  block: string,
  host: string,
  platform: readonly string[],
): { block: string; refused: string } {
  const fields = block.split('\0');
  let kept = '';
  const refused: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = [fields[at]!, fields[at + 1]!];
    if (name !== 'set-cookie' || isOwnCookie(value, host, platform)) kept += `${name}\0${value}\0`;
    else refused.push(JSON.stringify(value.split(/[=;]/, 1)[0]!.trim().slice(0, 64)));
  }
  return { block: kept, refused: refused.slice(0, 10).join(', ') };
}

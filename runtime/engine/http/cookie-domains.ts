// Limits the cookies of a response to cookies that browsers do not send to the host of another project. A `Domain` that
// names a parent of the platform's hosts would set cookies for all of them. Used by header-block.ts; pure, and called
// only for cookies with a domain.
import { isIP } from 'node:net';

/**
 * Matches attributes as browsers parse them: after a semicolon, case-insensitive, quoted or not. The cookie's own name
 * is not an attribute.
 */
const DOMAIN_ATTRIBUTE = /;\s*domain\s*=([^;]*)/gi;

/** Whether a `set-cookie` header has a `Domain` attribute. */
export function namesDomain(cookie: string): boolean {
  return cookie.includes(';') && cookie.search(DOMAIN_ATTRIBUTE) >= 0;
}

/**
 * Whether browsers send a cookie to no other project. Below the platform's domains, a cookie is valid only for the host
 * that set it. A custom domain may set a cookie for a parent (`www.shop.com` for `shop.com`), which browsers limit by
 * the Public Suffix List.
 *
 * @param host the host of the request, with its port if any. @param platform the platform's own domains, which contain
 * the hosts of all projects: a cookie must not be for one of them, or for a parent of one.
 */
export function isOwnCookie(cookie: string, host: string, platform: readonly string[]): boolean {
  const own = host.replace(/:\d*$/, '').replace(/\.$/, '');
  const mayNameParent = isIP(own) === 0 && !platform.some((name) => own === name || own.endsWith(`.${name}`));
  for (const [, value] of cookie.matchAll(DOMAIN_ATTRIBUTE)) {
    const text = value!.trim().toLowerCase();
    // An empty value is ignored, as in browsers.
    if (text === '') continue;
    const domain = text.replace(/^\./, '').replace(/\.$/, '');
    if (domain !== own && !(mayNameParent && domain !== '' && own.endsWith(`.${domain}`))) return false;
    if (platform.some((name) => name === domain || name.endsWith(`.${domain}`))) return false;
  }
  return true;
}

/** Removes cookies for other hosts from a response block, and returns their names for the log. */
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

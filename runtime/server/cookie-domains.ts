// Which cookies a response may set: those that only the host which was asked gets back. A `Domain` that names another host, a parent
// of it above all, would give the browser cookies for other projects. Used by header-block.ts; pure, and read by no request without one.

/** Attributes as browsers see them: after a semicolon, in any case, quoted or not; the name of a cookie is none. */
const domainAttribute = /;\s*domain\s*=([^;]*)/gi;

/** Whether a `set-cookie` header says for which hosts it is. */
export function namesDomain(cookie: string): boolean {
  return cookie.includes(';') && cookie.search(domainAttribute) >= 0;
}

/**
 * Whether a cookie goes back to nobody but the host that set it.
 *
 * @param host of the request, with its port if any.
 * @param platform the platform's own domains, below which all projects lie: no cookie is for one of them or a parent of it.
 */
export function isOwnCookie(cookie: string, host: string, platform: readonly string[]): boolean {
  const own = host.replace(/:\d*$/, '').replace(/\.$/, '');
  for (const [, value] of cookie.matchAll(domainAttribute)) {
    const text = value!.trim().toLowerCase();
    // Without a value it is as if it were not there.
    if (text === '') continue;
    const domain = text.replace(/^\./, '').replace(/\.$/, '');
    if (domain !== own || platform.some((name) => name === domain || name.endsWith(`.${domain}`))) return false;
  }
  return true;
}

/** A response block without the cookies that are not the host's own, and for the log what is not sent. */
export function ownCookies(block: string, host: string, platform: readonly string[]): { block: string; refused: string } {
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

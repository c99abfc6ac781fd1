// Cookies of sign-in. Over https, cookie names have the prefix `__Host-`, so that no other host, such as the host of a
// project, can set the cookies. Pure.

/** Cookies of one origin. */
interface Cookies {
  /** Name of the session cookie. */
  readonly session: string;
  /** Name of the cookie that binds a sign-in at the Git host to the browser that started it. */
  readonly flow: string;
  /** Name of the cookie that binds challenges of passkeys to a browser. */
  readonly passkey: string;
  /** Name of the cookie of browsers that have signed in to an account (known-browsers.ts). */
  readonly known: string;
  /** `Set-Cookie` value that sets a cookie. */
  set(name: string, value: string, seconds: number): string;
  /** `Set-Cookie` value that deletes a cookie. */
  clear(name: string): string;
}

const HEADER_CHARS_MAX = 16_384;

/** @param ui address of the dashboard. */
export function cookiesOf(ui: string): Cookies {
  const isSecure = ui.startsWith('https:');
  const prefix = isSecure ? '__Host-' : '';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    session: `${prefix}platform-session`,
    flow: `${prefix}platform-sign-in`,
    passkey: `${prefix}platform-passkey`,
    known: `${prefix}platform-known-browser`,
    set: (name, value, seconds) => `${name}=${value}; Max-Age=${seconds}; ${attributes}`,
    clear: (name) => `${name}=; Max-Age=0; ${attributes}`,
  };
}

/**
 * The value of a cookie. Null if the cookie is missing or ambiguous: a duplicate may have been set by another site.
 *
 * @param header `Cookie` of the request.
 */
export function readCookie(header: string | null, name: string): string | null {
  if (header === null || header.length > HEADER_CHARS_MAX) return null;
  const values = header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at > 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 && values[0] !== '' ? values[0]! : null;
}

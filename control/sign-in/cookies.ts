// Cookies of sign-in. Over https their names have the prefix `__Host-`: no other host, such as one of a project, can
// set them. Pure.

/** Cookies of one origin. */
export interface Cookies {
  /** The session. */
  readonly session: string;
  /** Ties a sign-in at the Git host to the browser that began it. */
  readonly flow: string;
  /** `Set-Cookie` that keeps a value. */
  set(name: string, value: string, seconds: number): string;
  /** `Set-Cookie` that removes it. */
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
    set: (name, value, seconds) => `${name}=${value}; Max-Age=${seconds}; ${attributes}`,
    clear: (name) => `${name}=; Max-Age=0; ${attributes}`,
  };
}

/**
 * The value of a cookie. Null when there is none, and when there are several: then somebody else may have set one.
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

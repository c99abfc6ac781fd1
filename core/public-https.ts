// `PUBLIC_HTTPS`: whether the platform manages its own certificates, with Caddy. Read by the supervisor, which starts
// the edge, and by code that needs the public scheme. Pure.

/** @throws {Error} for any other value. */
export function isHttpsOn(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (['on', 'true', '1'].includes(word)) return true;
  if (['', 'off', 'false', '0'].includes(word)) return false;
  throw new Error(`PUBLIC_HTTPS is "${text}": it must be on or off`);
}

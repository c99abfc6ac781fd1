// `PUBLIC_HTTPS`: whether the platform has certificates of its own, by Caddy. Read by the supervisor, which starts it,
// and by whoever has to know under which scheme visitors come. Pure.

/** @throws {Error} for what is neither. */
export function isHttpsOn(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (['on', 'true', '1'].includes(word)) return true;
  if (['', 'off', 'false', '0'].includes(word)) return false;
  throw new Error(`PUBLIC_HTTPS is "${text}": it takes on or off`);
}

// The name that a caller gives to a sandbox. Pure.

/**
 * Letters, digits and `.`, `_`, `-`, at most 63, the first one a letter or a digit: it can stand in paths, labels and
 * names as it is.
 */
export function isSandboxId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(value);
}

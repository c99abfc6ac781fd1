// The name that a caller gives a sandbox. Pure.

/**
 * Letters, digits and `.`, `_`, `-`, at most 63, starting with a letter or a digit: safe in paths, labels and names.
 */
export function isSandboxId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(value);
}

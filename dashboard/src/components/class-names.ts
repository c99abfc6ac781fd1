// Joins class names.

/** @example joined(styles.row, isOpen && styles.open, className) */
export function joined(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}

// Formats SQL for traces. Used by database.ts for sampled calls only. Pure.

const SHOWN_CHARS_MAX = 2000;

/**
 * SQL without literals: texts and numbers become `?`, so that no user data is in a trace.
 *
 * @example sqlShown("SELECT * FROM users WHERE mail = 'a@b.c'") // 'SELECT * FROM users WHERE mail = ?'
 */
export function sqlShown(sql: string): string {
  return sql
    .slice(0, SHOWN_CHARS_MAX)
    .replace(/'(?:[^']|'')*(?:'|$)/g, '?')
    .replace(/\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/gi, '?')
    .replace(/\bx\?/gi, '?')
    .replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

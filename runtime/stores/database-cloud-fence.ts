// Checks SQL before it is sent to a libSQL cloud, which has its own fence, so that the same statements are refused as
// by the database service (runtime/databases/sqlite/fence.ts), with the same messages. Called by database-cloud.ts.
// Pure.
import { SqlRefusal } from '#core/database-request.ts';
import { nextToken } from '../databases/sqlite/sql-text.ts';

const transactionWords = new Set(['BEGIN', 'COMMIT', 'END', 'ROLLBACK', 'SAVEPOINT', 'RELEASE']);
const forbidden = new Set(['ATTACH', 'DETACH', 'VACUUM']);
const readable =
  /^(?:table_list|table_x?info|index_(?:list|x?info)|foreign_key_(?:list|check)|quick_check|integrity_check|user_version|defer_foreign_keys|foreign_keys|optimize|page_count|freelist_count|schema_version|encoding|page_size)$/i;

export function tooBig(what: string, allowed: string): SqlRefusal {
  return new SqlRefusal('SQLITE_TOOBIG', `${what} exceeds ${allowed}`);
}

/**
 * @param savepoints whether savepoint statements are allowed.
 * @throws {SqlRefusal} for statements that the database service also refuses, if their first words show this.
 */
export function checkAllowed(sql: string, savepoints = false): void {
  const words: string[] = [];
  for (let token = nextToken(sql, 0); token !== null && words.length < 4; token = nextToken(sql, token.end)) {
    words.push(sql.slice(token.start, token.end).toUpperCase());
  }
  const [first = '', second = ''] = words[0] === 'EXPLAIN' ? words.slice(words[1] === 'QUERY' ? 3 : 1) : words;
  if (transactionWords.has(first)) {
    const isSavepoint = first === 'SAVEPOINT' || first === 'RELEASE' || (first === 'ROLLBACK' && words.includes('TO'));
    if (savepoints && isSavepoint) return;
    throw new SqlRefusal(
      'SQLITE_AUTH',
      'not authorized: use batch() or transaction() instead of BEGIN, COMMIT, ROLLBACK and SAVEPOINT',
    );
  }
  if (forbidden.has(first))
    throw new SqlRefusal('SQLITE_AUTH', 'not authorized: ATTACH, DETACH and VACUUM are not available');
  if (first === 'PRAGMA' && !readable.test(second))
    throw new SqlRefusal('SQLITE_AUTH', `not authorized: PRAGMA ${second.toLowerCase()} is not available`);
}

// Classifies a statement of a file by its first words: whether it belongs to the format of dumps rather than to their
// content. The security boundary is the authorizer (sqlite/fence.ts), not this file. Pure.
import { nextToken, type Token } from '../sqlite/sql-text.ts';

/** The first words of a statement. */
export interface StatementWords {
  /** For example `INSERT`, `CREATE TABLE`, `CREATE VIRTUAL TABLE`, `PRAGMA`, `COMMIT`. */
  readonly verb: string;
  /** The created or written object, without quotes; empty if the verb has none. */
  readonly name: string;
  /** The table of an index or a trigger; otherwise empty. */
  readonly on: string;
  /** Offset of the text after the name. */
  readonly restAt: number;
}

const CREATED = new Set(['TABLE', 'INDEX', 'VIEW', 'TRIGGER']);
const BEFORE_CREATED = new Set(['TEMP', 'TEMPORARY', 'UNIQUE', 'VIRTUAL']);
const BEFORE_INTO = new Set(['OR', 'ABORT', 'FAIL', 'IGNORE', 'REPLACE', 'ROLLBACK']);
/** Transaction statements of dumps are skipped: the import is one transaction, and checks keys at its end. */
const FRAMING = new Set(['BEGIN', 'COMMIT', 'END']);
/** Settings of a connection or of the file format, which do not affect the content. */
const SETTINGS = new Set([
  'foreign_keys',
  'defer_foreign_keys',
  'ignore_check_constraints',
  'writable_schema',
  'legacy_alter_table',
  'journal_mode',
  'synchronous',
  'locking_mode',
  'temp_store',
  'cache_size',
  'mmap_size',
  'page_size',
  'auto_vacuum',
  'encoding',
]);

/** Parses them. */
export function wordsOf(sql: string): StatementWords {
  const words = new Words(sql);
  const first = words.take();
  if (first === 'INSERT' || first === 'REPLACE') {
    while (BEFORE_INTO.has(words.peek())) words.take();
    if (words.peek() !== 'INTO') return words.named('INSERT', false);
    words.take();
    return words.named('INSERT');
  }
  if (first === 'DELETE') {
    if (words.peek() === 'FROM') words.take();
    return words.named('DELETE');
  }
  if (first === 'CREATE') {
    const before: string[] = [];
    while (BEFORE_CREATED.has(words.peek())) before.push(words.take());
    const kind = words.take();
    if (!CREATED.has(kind)) return words.named('CREATE', false);
    if (words.peek() === 'IF')
      for (const expected of ['IF', 'NOT', 'EXISTS']) if (words.peek() === expected) words.take();
    const isVirtual = before.includes('VIRTUAL');
    return words.named(`CREATE ${isVirtual ? 'VIRTUAL ' : ''}${kind}`, true, kind === 'INDEX' || kind === 'TRIGGER');
  }
  if (first === 'PRAGMA' || first === 'ANALYZE') return words.named(first);
  return words.named(first, false);
}

/** Whether a statement only affects how a dump is run, not its content. */
export function isFraming({ verb, name }: StatementWords): boolean {
  return FRAMING.has(verb) || (verb === 'PRAGMA' && SETTINGS.has(name.toLowerCase()));
}

/** Quotes a name for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Removes the quotes of a name: `"a""b"` is `a"b`. */
export function unquoted(text: string): string {
  const [quote] = text;
  if (quote === '[') return text.slice(1, -1);
  if (quote !== '"' && quote !== '`' && quote !== "'") return text;
  return text.slice(1, -1).replaceAll(quote + quote, quote);
}

class Words {
  readonly #sql: string;
  #next: Token | null;

  constructor(sql: string) {
    this.#sql = sql;
    this.#next = nextToken(sql, 0);
  }

  /** The next word in capitals, or a single character. */
  peek(): string {
    return this.#next === null ? '' : this.#sql.slice(this.#next.start, this.#next.end).toUpperCase();
  }

  take(): string {
    const word = this.peek();
    this.#step();
    return word;
  }

  #step(): Token | null {
    const token = this.#next;
    if (token !== null) this.#next = nextToken(this.#sql, token.end);
    return token;
  }

  /** Expects a name, perhaps qualified by a schema. */
  named(verb: string, hasName = true, hasOn = false): StatementWords {
    let name = '';
    let last: Token | null = null;
    if (hasName) {
      last = this.#step();
      if (this.peek() === '.') {
        this.#step();
        last = this.#step();
      }
      if (last !== null) name = unquoted(this.#sql.slice(last.start, last.end));
    }
    const restAt = last?.end ?? this.#sql.length;
    if (!hasOn) return { verb, name, on: '', restAt };
    while (this.#next !== null && this.peek() !== 'ON') this.#step();
    this.#step();
    const table = this.#next;
    return { verb, name, on: table === null ? '' : unquoted(this.#sql.slice(table.start, table.end)), restAt };
  }
}

// Splits SQL text into statements and counts their parameters, with the rules of SQLite's tokenizer. The security
// boundary is the authorizer (fence.ts), not this file: a mistake here only causes a wrong line number. Pure.
import { SqlRefusal } from '#core/database-request.ts';

/** One statement of a text. */
export interface StatementText {
  readonly sql: string;
  /** Line of the statement's first word, from 1. */
  readonly line: number;
  /** Number of values: the number of `?`, or the highest `?NNN`. */
  readonly parameters: number;
}

/** A token of SQL text. */
export interface Token {
  /** `word`, `text` (quoted), `parameter`, or the character itself. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

// SQLite treats a byte order mark as space wherever a token can begin.
const spaces = new Set([' ', '\t', '\n', '\r', '\f', '\ufeff']);
const wordStart = /[A-Za-z_\u0080-\uffff]/;
// SQLite accepts `$` inside a word, and after a digit any character that could be part of a number.
const wordBody = /[A-Za-z0-9_$\u0080-\uffff]*/y;
const numberBody = /[0-9A-Za-z_.\u0080-\uffff$]*/y;
const digits = /[0-9]*/y;

/** The end of a match of `pattern` (sticky) at `at`. */
function after(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(sql)?.[0].length ?? 0);
}

/** The next token at or after `at` that is neither space nor comment; null at the end. */
export function nextToken(sql: string, at: number): Token | null {
  for (let start = at; start < sql.length;) {
    const character = sql[start] as string;
    if (spaces.has(character)) {
      start++;
    } else if (character === '-' && sql[start + 1] === '-') {
      const end = sql.indexOf('\n', start);
      start = end === -1 ? sql.length : end + 1;
    } else if (character === '/' && sql[start + 1] === '*' && start + 2 < sql.length) {
      const end = sql.indexOf('*/', start + 2);
      start = end === -1 ? sql.length : end + 2;
    } else {
      return tokenAt(sql, start, character);
    }
  }
  return null;
}

function tokenAt(sql: string, start: number, character: string): Token {
  if (character === "'" || character === '"' || character === '`')
    return { kind: 'text', start, end: quotedEnd(sql, start, character) };
  if (character === '[') {
    const end = sql.indexOf(']', start);
    return { kind: 'text', start, end: end === -1 ? sql.length : end + 1 };
  }
  if (character === '?') return { kind: 'parameter', start, end: after(digits, sql, start + 1) };
  if (character === ':' || character === '@' || character === '$' || character === '#') {
    const end = after(wordBody, sql, start + 1);
    return { kind: end > start + 1 ? 'parameter' : character, start, end };
  }
  if (wordStart.test(character)) return { kind: 'word', start, end: after(wordBody, sql, start + 1) };
  if (character >= '0' && character <= '9') return { kind: 'number', start, end: after(numberBody, sql, start + 1) };
  return { kind: character, start, end: start + 1 };
}

function quotedEnd(sql: string, start: number, quote: string): number {
  for (let at = start + 1; ;) {
    const end = sql.indexOf(quote, at);
    if (end === -1) return sql.length;
    if (sql[end + 1] !== quote) return end + 1;
    at = end + 2;
  }
}

/**
 * The statements of a text, without empty ones.
 *
 * @throws {SqlRefusal} for named parameters, a NUL character, and more statements than `statementsMax`.
 */
export function splitStatements(sql: string, statementsMax: number): StatementText[] {
  // SQLite treats a NUL as the end of the text, and would silently drop the rest.
  if (sql.includes('\0')) throw new SqlRefusal('SQLITE_ERROR', 'SQL text must not contain a NUL character');
  const statements: StatementText[] = [];
  let line = 1;
  let lineAt = 0;
  let at = 0;
  for (;;) {
    const first = nextToken(sql, at);
    if (first === null) return statements;
    if (first.kind === ';') {
      at = first.end;
      continue;
    }
    for (let next = sql.indexOf('\n', lineAt); next !== -1 && next < first.start; next = sql.indexOf('\n', lineAt)) {
      line++;
      lineAt = next + 1;
    }
    if (statements.length === statementsMax)
      throw new SqlRefusal('SQLITE_TOOBIG', `there are more than ${statementsMax} statements`);
    const { end, parameters } = statementEnd(sql, first);
    statements.push({ sql: sql.slice(first.start, end), line, parameters });
    at = end;
  }
}

/**
 * The end of a statement (before its `;`), as `sqlite3_complete` determines it: a trigger's body contains semicolons.
 *
 * @returns `complete`: its `;` follows its last token, with only spaces and comments between.
 */
export function statementEnd(
  sql: string,
  first: Token,
): { readonly end: number; readonly parameters: number; readonly complete: boolean } {
  const plain = plainEnd(sql, first);
  if (plain !== -1) return { end: plain, parameters: 0, complete: true };
  const isTrigger = beginsTrigger(sql, first);
  let parameters = 0;
  let lastEnd = first.start;
  // The words before a `;` in a trigger: `; END` ends it.
  let beforeLast = '';
  let last = '';
  for (let token: Token | null = first; token !== null; token = nextToken(sql, token.end)) {
    if (token.kind === ';' && (!isTrigger || (last === 'END' && beforeLast === ';')))
      return { end: lastEnd, parameters, complete: true };
    if (token.kind === 'parameter') parameters = counted(sql.slice(token.start, token.end), parameters);
    beforeLast = last;
    last = token.kind === 'word' ? sql.slice(token.start, token.end).toUpperCase() : token.kind;
    lastEnd = token.end;
  }
  return { end: lastEnd, parameters, complete: false };
}

// Special characters in a statement without parameters and triggers.
const MARKED = /[;'"`[?:@$#]|--|\/\*/g;
const NEEDS_TOKENS = /^(?:CREATE|EXPLAIN)/i;

/**
 * The end of a statement, if it can be found without parsing every token, as for rows of a dump; this takes a fifth of
 * the time. -1 means that the tokens must be parsed.
 */
function plainEnd(sql: string, first: Token): number {
  if (NEEDS_TOKENS.test(sql.slice(first.start, first.start + 7))) return -1;
  for (let at = first.start; ;) {
    MARKED.lastIndex = at;
    const found = MARKED.exec(sql);
    if (found === null) return -1;
    const { index } = found;
    const [mark] = found as unknown as [string];
    if (mark === ';') {
      let end = index;
      while (spaces.has(sql[end - 1] as string)) end--;
      return end;
    }
    if (mark === "'" || mark === '"' || mark === '`') at = quotedEnd(sql, index, mark);
    else return -1;
  }
}

function beginsTrigger(sql: string, first: Token): boolean {
  const words: string[] = [];
  for (
    let token: Token | null = first;
    token !== null && token.kind === 'word' && words.length < 6;
    token = nextToken(sql, token.end)
  ) {
    words.push(sql.slice(token.start, token.end).toUpperCase());
  }
  return /^(?:EXPLAIN (?:QUERY PLAN )?)?CREATE (?:TEMP |TEMPORARY )?TRIGGER\b/.test(words.join(' '));
}

function counted(parameter: string, before: number): number {
  if (parameter === '?') return before + 1;
  if (parameter[0] === '?') return Math.max(before, Number(parameter.slice(1)));
  throw new SqlRefusal(
    'SQLITE_ERROR',
    `named parameters such as ${parameter.slice(0, 60)} are not supported: use ? or ?NNN`,
  );
}

/**
 * The only statement of a text.
 *
 * @throws {SqlRefusal} when there is no statement, or more than one.
 */
export function oneStatement(sql: string): StatementText {
  return onlyStatement(splitStatements(sql, 2));
}

/** Expects a text to have exactly one statement, and returns it. @throws as {@link oneStatement}. */
export function onlyStatement(statements: readonly StatementText[]): StatementText {
  if (statements.length === 1) return statements[0] as StatementText;
  if (statements.length === 0) throw new SqlRefusal('SQLITE_ERROR', 'there is no statement in the SQL text');
  throw new SqlRefusal('SQLITE_ERROR', 'a prepared statement must be one statement; use batch() or exec() for several');
}

/** @throws {SqlRefusal} when a statement other than the last one has parameters. */
export function checkOnlyLastHasParameters(statements: readonly StatementText[]): void {
  if (statements.slice(0, -1).every(({ parameters }) => parameters === 0)) return;
  // Cloudflare's words.
  throw new SqlRefusal(
    'SQLITE_ERROR',
    'When executing multiple SQL statements in a single call, only the last statement can have parameters.',
  );
}

/**
 * Offset of the token that a message of SQLite names (`near "x": syntax error`, `no such column: x`), if it is
 * unambiguous; -1 otherwise. `fails` determines whether a prefix of the text already has that error.
 */
export function errorOffset(sql: string, message: string, fails: (beginning: string) => boolean): number {
  const near = /^near "(.*)": syntax error$/s.exec(message)?.[1];
  // SQLite gives no offset for a missing table.
  const name = near ?? /^no such (?:column|function): (?:\w+\.)?(\w+)/.exec(message)?.[1];
  if (name === undefined) return -1;
  const found: Token[] = [];
  for (let token = nextToken(sql, 0); token !== null && found.length < 50; token = nextToken(sql, token.end)) {
    const text = sql.slice(token.start, token.end);
    if (text === name || (near === undefined && unquoted(text).toLowerCase() === name.toLowerCase())) found.push(token);
  }
  if (found.length === 1) return (found[0] as Token).start;
  if (near === undefined) return -1;
  return found.find((token) => fails(sql.slice(0, token.end)))?.start ?? -1;
}

function unquoted(text: string): string {
  return /^["`[]/.test(text) ? text.slice(1, -1) : text;
}

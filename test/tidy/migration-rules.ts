// Processes of the version before work on the migrations of this one, so that machines can be upgraded one by one: what
// breaks them is marked with the version that stopped to use it. Functions over sources; no I/O.
import type { Sources } from '#cli/tasks/tools/sources.ts';
import { isOlderVersion, versions } from '#postgres/compatibility.ts';
import { lineAt, type Finding } from './findings.ts';

const FILE = /^postgres\/migrations\/(\d{6})_[a-z0-9_]+\.sql$/;
/** As written above a statement. */
const UNUSED_SINCE = /^-- unused since (\d+\.\d+\.\d+): \S/m;
const COMPATIBLE = /^-- compatible: \S/m;

const MESSAGE =
  'and processes of the version before use it: write `-- unused since <version>: <what>` above it, with the published ' +
  'version that stopped to use it, or `-- compatible: <why they keep working>`';

/** A statement with the comments above it. */
interface Statement {
  readonly text: string;
  readonly comments: string;
  readonly line: number;
}

/** Versions as in postgres/compatibility.ts. */
type Versions = typeof versions;

/** What breaks a process of the version before, and what to say of it. */
const breaking: readonly (readonly [pattern: RegExp, says: string])[] = [
  [/^DROP (TABLE|VIEW|MATERIALIZED VIEW|FUNCTION|PROCEDURE|SCHEMA|SEQUENCE|TYPE|DOMAIN)\b/, 'drops it'],
  [/^ALTER .*\bRENAME\b/, 'renames it'],
  [/^ALTER .*\bSET SCHEMA\b/, 'moves it'],
  [/^ALTER TABLE .*\bDROP (?!CONSTRAINT\b|NOT NULL\b|DEFAULT\b|EXPRESSION\b|IDENTITY\b)/, 'drops a column'],
  [/^ALTER TABLE .*\bDROP (CONSTRAINT|DEFAULT|EXPRESSION|IDENTITY)\b/, 'drops a constraint or a default'],
  [/^ALTER TABLE .*\b(SET DATA )?TYPE\b/, 'changes a type'],
  [/^ALTER TABLE .*\bSET NOT NULL\b/, 'makes a column NOT NULL'],
  [/^ALTER (TABLE|DOMAIN) .*\bADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY KEY|FOREIGN KEY|EXCLUDE)\b/, 'adds a constraint'],
  [
    /^ALTER TABLE .*\bADD (COLUMN )?(?!CONSTRAINT\b)[^,]*\b(UNIQUE|PRIMARY KEY|CHECK|REFERENCES)\b/,
    'adds a constraint',
  ],
  [/^CREATE UNIQUE INDEX\b/, 'adds a constraint'],
  [/^REVOKE\b/, 'takes a right'],
  [/^DO\b.*\b(DROP|RENAME|ALTER|REVOKE)\b/, 'changes what nobody can read from it'],
];

/** Statements of new migrations that processes of the version before do not survive, without a mark. */
export function migrationFindings(sources: Sources, known: Versions = versions): Finding[] {
  const checkedFrom = known[0]!.migrationsBefore;
  const findings: Finding[] = [];
  const uniques = new Set(Object.entries(sources).flatMap(([file, text]) => (FILE.test(file) ? uniquesOf(text) : [])));
  for (const [file, text] of Object.entries(sources)) {
    const number = Number(FILE.exec(file)?.[1] ?? 0);
    if (number <= checkedFrom) continue;
    const own = known.findLast(({ migrationsBefore }) => migrationsBefore < number)!.version;
    const statements = statementsOf(text);
    const created = new Set(statements.flatMap(({ text: one }) => createdBy(one)));
    for (const { text: one, comments, line } of statements) {
      const says = brokenBy(one, created, uniques);
      if (says === null || COMPATIBLE.test(comments)) continue;
      const since = UNUSED_SINCE.exec(comments)?.[1];
      if (since === undefined) findings.push({ file, line, message: `${says}, ${MESSAGE}` });
      else if (!isOlderVersion(since, own))
        findings.push({
          file,
          line,
          message: `is a migration of version ${own}, beside which the version before works: what ${since} stopped to use can go in a later one`,
        });
    }
  }
  return findings;
}

function brokenBy(text: string, created: ReadonlySet<string>, uniques: ReadonlySet<string>): string | null {
  if (created.has(subjectOf(text))) return null;
  const index = /^DROP INDEX (?:IF EXISTS )?(?:\w+\.)?(\w+)/.exec(text);
  if (index !== null) return uniques.has(index[1]!) ? 'drops a unique index' : null;
  const found = breaking.find(([pattern]) => pattern.test(text));
  if (found !== undefined) return found[1];
  return columnsOf(text).some((column) => /\bNOT NULL\b/.test(column) && !/\b(DEFAULT|GENERATED)\b/.test(column))
    ? 'adds a column NOT NULL without a default'
    : null;
}

/** Clauses that add columns. */
function columnsOf(text: string): string[] {
  if (!/^ALTER TABLE\b/.test(text)) return [];
  return text.split(/,\s*(?=ADD\b)|(?<=^ALTER TABLE \S+) (?=ADD\b)/).filter((part) => /^ADD (COLUMN )?/.test(part));
}

/** Name of the table that a statement changes, without its schema; '' if it changes none. */
function subjectOf(text: string): string {
  const found =
    /^ALTER (?:TABLE|VIEW|SEQUENCE|TYPE|DOMAIN) (?:IF EXISTS )?(?:ONLY )?([\w.]+)/.exec(text) ??
    /^CREATE UNIQUE INDEX (?:\w+ )?ON ([\w.]+)/.exec(text) ??
    /^REVOKE .* ON (?:TABLE )?([\w.]+)/.exec(text);
  return found === null ? '' : found[1]!.split('.').at(-1)!;
}

function createdBy(text: string): string[] {
  const found = /^CREATE (?:UNLOGGED )?(?:TABLE|VIEW|SEQUENCE|TYPE|DOMAIN) (?:IF NOT EXISTS )?([\w.]+)/.exec(text);
  return found === null ? [] : [found[1]!.split('.').at(-1)!];
}

function uniquesOf(text: string): string[] {
  return [...text.matchAll(/CREATE UNIQUE INDEX (?:IF NOT EXISTS )?(\w+)/gi)].map(([, name]) => name!);
}

/** Statements on one line, key words as written, without literals and the bodies of functions (those of DO stay). */
function statementsOf(text: string): Statement[] {
  const statements: Statement[] = [];
  const token = /--[^\n]*|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|;|[^;'$-]+|[\s\S]/g;
  let [comments, own, line] = ['', '', 0];
  for (const { 0: part, index } of text.matchAll(token)) {
    if (part === ';') {
      if (own.trim() !== '') statements.push({ text: own.replace(/\s+/g, ' ').trim(), comments, line });
      [comments, own, line] = ['', '', 0];
    } else if (part.startsWith('--')) {
      comments += `${part}\n`;
    } else {
      const isBody = part.startsWith('$') && part.length > 1;
      if (own.trim() === '' && part.trim() !== '') line = lineAt(text, index + part.search(/\S/));
      own += part.startsWith("'") ? "''" : isBody && !/^\s*DO\b/.test(own) ? '$$$$' : part;
    }
  }
  if (own.trim() !== '') statements.push({ text: own.replace(/\s+/g, ' ').trim(), comments, line });
  return statements;
}

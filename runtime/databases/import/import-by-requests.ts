// Imports without a local file: the statements of a dump as one request, limited in size. Called by
// service/cloud-service.ts.
import { open } from 'node:fs/promises';
import type { DatabaseLimits } from '#core/limits.ts';
import { databaseOps, SqlRefusal, type WireRefusal } from '#core/database-request.ts';
import { decodeText } from '#core/text-file.ts';
import type { ImportState } from '../protocol/frames.ts';
import { splitStatements } from '../sqlite/sql-text.ts';
import { isSqliteFile } from './sqlite-file.ts';
import { isFraming, wordsOf, type StatementWords } from './statement-words.ts';

/** Runs a request of a database, like one from an engine. */
type Run = (op: number, transaction: number, payload: string) => Promise<string | Uint8Array>;

/** @throws {SqlRefusal} for a file that is too large, not SQL, or refused; the database is then unchanged. */
export async function importByRequests(
  run: Run,
  file: string,
  replace: boolean,
  limits: DatabaseLimits,
): Promise<ImportState> {
  const bytes = await read(file, limits.execBytesMax);
  if (isSqliteFile(bytes) || replace)
    throw new SqlRefusal(
      'SQLITE_MISUSE',
      'a managed database cloud only imports SQL, and replaces nothing: use its own tools',
    );
  const statements = tablesFirst(
    splitStatements(textIn(bytes), limits.execStatementsMax)
      .map(({ sql }) => ({ sql, words: wordsOf(sql) }))
      .filter(({ words }) => !isFraming(words)),
  );
  const ask = async (op: number, transaction: number, args: readonly unknown[]): Promise<Record<string, unknown>> => {
    const answer = JSON.parse((await run(op, transaction, JSON.stringify(args))) as string) as Record<string, unknown>;
    const refusal = (answer as unknown as Partial<WireRefusal>).e;
    if (refusal !== undefined) throw new SqlRefusal(refusal[0], refusal[1]);
    return answer;
  };
  const { t } = await ask(databaseOps.begin, 0, []);
  try {
    const sql = ['PRAGMA defer_foreign_keys=ON', ...statements.map((statement) => statement.sql)].join(';\n');
    await ask(databaseOps.exec, Number(t), [sql]);
    await ask(databaseOps.commit, Number(t), []);
  } catch (error) {
    await run(databaseOps.rollback, Number(t), '[]').catch(() => {});
    throw error;
  }
  return { state: 'done', statements: statements.length, part: 1, reason: null, leftOut: [] };
}

/** @throws {SqlRefusal} for bytes that are not text. */
function textIn(bytes: Buffer): string {
  try {
    return decodeText(bytes, 'the file');
  } catch (error) {
    throw new SqlRefusal('SQLITE_ERROR', (error as Error).message);
  }
}

/** Foreign keys are only deferred, not disabled: a row needs the table that it refers to. */
function tablesFirst(statements: readonly { sql: string; words: StatementWords }[]): readonly { sql: string }[] {
  // The file is not a dump, so the order of its statements may matter.
  if (statements.some(({ words: { verb } }) => verb === 'DROP' || verb === 'ALTER')) return statements;
  const isTable = ({ words: { verb } }: { words: StatementWords }): boolean => verb === 'CREATE TABLE';
  return [...statements.filter(isTable), ...statements.filter((one) => !isTable(one))];
}

async function read(file: string, bytesMax: number): Promise<Buffer> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    if (size > bytesMax)
      throw new SqlRefusal(
        'SQLITE_TOOBIG',
        `into a managed database cloud files of up to ${bytesMax} bytes are imported: use its own tools`,
      );
    const bytes = Buffer.alloc(size);
    await handle.read(bytes, 0, size, 0);
    return bytes;
  } finally {
    await handle.close();
  }
}

// Lines that a release appends to its deployment's log, after the lines of the build. Only the holder of the job's
// lease writes lines. Inserted lines are permanent, and their numbers follow the numbers of the build's lines.
import type { Sql, Transaction } from '#postgres/sql.ts';

type Step = 'queue' | 'upload' | 'migrate' | 'release';
type Level = 'info' | 'warn' | 'error';

const TEXT_CHARS_MAX = 8000;
const LINES_MAX = 200;

/** Adds lines, and notifies followers of the log. */
export async function addLogLines(
  sql: Sql | Transaction,
  deploymentId: string,
  step: Step,
  lines: readonly (readonly [level: Level, text: string])[],
): Promise<void> {
  const shown = lines.slice(0, LINES_MAX);
  if (shown.length === 0) return;
  const levels = shown.map(([level]) => level);
  // Postgres text cannot contain NUL.
  const texts = shown.map(([, text]) => text.slice(0, TEXT_CHARS_MAX).replaceAll('\0', ''));
  await sql`
    INSERT INTO control.build_log (deployment_id, seq, step, level, text)
    SELECT ${deploymentId}, (SELECT coalesce(max(seq), 0) FROM control.build_log WHERE deployment_id = ${deploymentId})
      + line.number, ${step}, line.level, line.text
    FROM unnest(${levels}::text[], ${texts}::text[]) WITH ORDINALITY AS line (level, text, number)`;
  await sql`SELECT pg_notify('control_log', ${deploymentId})`;
}

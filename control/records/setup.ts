// Stored state of the first setup: skipped steps, and its completion.
import type { Sql, Transaction } from '#postgres/sql.ts';

/** The steps of the setup, in order. */
export const setupSteps = [
  'account',
  'domain',
  'https',
  'git-host',
  'ai',
  'backups',
  'mail',
  'invitations',
  'example',
] as const;
export type SetupStepName = (typeof setupSteps)[number];

const FINISHED = 'finished';

/** Reads the skipped steps, and whether the setup has ended. */
export async function readSetupMarks(
  sql: Sql,
): Promise<{ readonly skipped: ReadonlySet<string>; readonly isFinished: boolean }> {
  const rows = await sql<{ step: string }[]>`SELECT step FROM control.setup`;
  const marks = new Set(rows.map(({ step }) => step));
  return { skipped: marks, isFinished: marks.has(FINISHED) };
}

/** Marks a step as skipped, or no longer. */
export async function markSkipped(tx: Transaction, step: SetupStepName, isSkipped: boolean): Promise<void> {
  if (isSkipped) await tx`INSERT INTO control.setup (step) VALUES (${step}) ON CONFLICT DO NOTHING`;
  else await tx`DELETE FROM control.setup WHERE step = ${step}`;
}

/** Ends the setup: sign-ins no longer redirect to it. */
export async function finishSetup(tx: Transaction): Promise<void> {
  await tx`INSERT INTO control.setup (step) VALUES (${FINISHED}) ON CONFLICT DO NOTHING`;
}

/** Whether a sign-in redirects an account to the setup: an operator, until the setup has ended. */
export async function leadsToSetup(sql: Sql, accountId: string): Promise<boolean> {
  const [row] = await sql`
    SELECT FROM control.account WHERE id = ${accountId} AND is_admin
      AND NOT EXISTS (SELECT FROM control.setup WHERE step = ${FINISHED})`;
  return row !== undefined;
}

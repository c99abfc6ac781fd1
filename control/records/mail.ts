// Delivery results of emails, for operators. Written by control/outbound/send-mail.ts.
import type { Sql } from '#postgres/sql.ts';

/** The last email of a kind. */
export interface MailOutcome {
  readonly at: Date;
  readonly count: number;
  /** The project whose app sent the email; null means the platform. */
  readonly project: string | null;
  readonly recipient: string;
  readonly error: string | null;
  readonly reply: string | null;
}

/** Reads the last sent email, the last failure, and how many wait. */
export async function readMailState(
  sql: Sql,
): Promise<{ readonly sent: MailOutcome | null; readonly failed: MailOutcome | null; readonly waiting: number }> {
  const [rows, [waiting]] = await Promise.all([
    sql<(MailOutcome & { readonly kind: string })[]>`
      SELECT kind, at, count, project, recipient, error, reply FROM control.mail_outcome`,
    sql<{ count: number }[]>`SELECT count(*)::int FROM control.mail`,
  ]);
  const of = (kind: string): MailOutcome | null => rows.find((row) => row.kind === kind) ?? null;
  return { sent: of('sent'), failed: of('failed'), waiting: waiting!.count };
}

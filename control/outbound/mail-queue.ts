// Sends queued emails: emails of apps, which engines pass on (binding.send_mail), and emails that the mail server asked
// to retry later. Temporary failures are retried for hours; emails with other failures are logged and dropped. Started
// by main.ts.
import type { Dependencies } from '../process/dependencies.ts';
import { runDueWork } from './due-work.ts';
import { unsealText } from './send-mail.ts';
import { retryIn, UNREADABLE } from './subscription.ts';

/** Delays between attempts, four hours in total; servers that temporarily refuse unknown senders need minutes. */
const WAITS_SECONDS = [60, 300, 900, 3600, 10_800];
const OF_ONE_MAX = 4;
const LEASE_SECONDS = 60;
const POLL_MS = 5000;

interface Waiting {
  readonly id: string;
  readonly attempt: number;
  readonly project: string | null;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string | null;
  readonly sealed: Buffer | null;
}

/** Sends due emails until the process ends. */
export function deliverMail(deps: Dependencies): Promise<void> {
  const { sql, mail, keys, log } = deps;

  async function claim(busy: readonly string[]): Promise<Waiting | null> {
    const [claimed] = await sql<Waiting[]>`
      UPDATE control.mail SET lease_until = now() + ${LEASE_SECONDS} * interval '1 second', attempt = attempt + 1
       WHERE id = (
         SELECT id FROM control.mail
          WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now())
            AND coalesce(project, '') <> ALL(${[...busy]})
          ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id::text, attempt, project, recipient, subject, body, sealed`;
    return claimed ?? null;
  }

  async function run({ id, attempt, project, recipient, subject, body, sealed }: Waiting): Promise<void> {
    let text: string;
    try {
      text = body ?? unsealText(keys, sealed!);
    } catch {
      log.error({ reason: UNREADABLE }, 'Email dropped');
      await sql`DELETE FROM control.mail WHERE id = ${id}`;
      return;
    }
    const result = await mail.attempt({ to: recipient, subject, text }, project);
    const wait = result.isTemporary ? retryIn(WAITS_SECONDS, attempt) : null;
    if (wait === null) await sql`DELETE FROM control.mail WHERE id = ${id}`;
    else
      await sql`
        UPDATE control.mail SET lease_until = NULL, due_at = now() + ${wait} * interval '1 second'
         WHERE id = ${id} AND attempt = ${attempt}`;
  }

  return runDueWork<Waiting>(deps, {
    what: 'Emails',
    channel: 'control_mail',
    pollMs: POLL_MS,
    ofOneMax: OF_ONE_MAX,
    claim,
    ownerOf: ({ project }) => project ?? '',
    run,
    sweep: () =>
      sql`DELETE FROM control.rate WHERE key LIKE 'app-mail:%' AND window_start < now() - interval '2 hours'`,
  });
}

/**
 * Tells engines whether emails of apps are sent, and their limits. Called at the start, and after changes of settings.
 */
export async function publishMailChannel({
  sql,
  mail,
  limits,
}: Pick<Dependencies, 'sql' | 'mail' | 'limits'>): Promise<void> {
  await sql`
    UPDATE control.mail_channel SET is_on = ${mail.isOn()}, project_hour_max = ${limits.mailProjectHourMax},
      hour_max = ${limits.mailHourMax}, waiting_max = ${limits.mailWaitingMax}`;
}

// Passes emails of apps to the API process through Postgres, because engines share memory with hostile code, and so get
// no password of a mail server. The engines' role may call two functions, which limit size and rate.
import { withoutPreview } from '#core/preview.ts';
import type { PostgresSql } from './sql-postgres.ts';

/** An email to a user of an app. */
interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

const SETTING_MS = 15_000;
const SUBJECT_CHARS_MAX = 200;

/** Why an email was not accepted. */
const refusals: Readonly<Record<string, string>> = {
  off: 'this platform sends no mail',
  project_rate: 'the project has sent its emails of this hour (API_MAIL_PROJECT_MAX)',
  rate: 'the apps have sent their emails of this hour (API_MAIL_MAX)',
  full: 'too many emails wait to be sent',
};

/** @param now returns milliseconds, for tests. */
export function createMailPostgres(
  sql: Pick<PostgresSql, 'all'>,
  log: (level: 'warn' | 'error', message: string) => void,
  now: () => number = () => performance.now(),
) {
  let known: Promise<boolean> | null = null;
  let isOn = true;
  let askedAt = -Infinity;
  const ask = async (): Promise<boolean> => {
    try {
      const [row] = await sql.all<{ on: boolean }>('SELECT sends_mail() AS on');
      isOn = row?.on === true;
    } catch (error) {
      // The previous value stays. It is initially true, because addresses are then verified.
      log('warn', `mail: its setting cannot be read: ${(error as Error).message}`);
    }
    return isOn;
  };
  return {
    deliversMail(): Promise<boolean> {
      if (known === null || now() - askedAt > SETTING_MS) {
        askedAt = now();
        known = ask();
      }
      return known;
    },
    /** @throws {Error} if the email was not accepted; the message has no address and text. */
    async sendMail({ to, subject, text }: Mail, namespace: string): Promise<void> {
      const line = subject.replace(/\p{Cc}+/gu, ' ').slice(0, SUBJECT_CHARS_MAX);
      const [row] = await sql.all<{ refusal: string | null }>(
        'SELECT send_mail($1, $2, $3, $4) AS refusal',
        withoutPreview(namespace),
        to,
        line,
        text,
      );
      const refusal = row?.refusal ?? null;
      if (refusal !== null) throw new Error(`mail of ${namespace} not sent: ${refusals[refusal] ?? refusal}`);
    },
  };
}

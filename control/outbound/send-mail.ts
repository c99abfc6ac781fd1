// Sends emails by SMTP, or by a POST of JSON, depending on AUTH_MAIL_URL. Records the results of the last emails, and
// queues emails that the mail server asks to send later (mail-queue.ts). Used by alerts, invitations, recovery and
// operators.
import type { Logger } from 'pino';
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import { isMailAddress, type MailSettings } from '#core/mail-target.ts';
import { post, type Resolve } from '#core/outbound/post.ts';
import type { Sql } from '#postgres/sql.ts';
import type { Mail, Mailer, MailResult } from '../process/mailer.ts';
import { checkSmtp, sendBySmtp } from './smtp.ts';

/** The error if no mail server is set up. */
export const NO_MAIL = 'This platform sends no mail: its operator sets AUTH_MAIL_URL';

/** Dependencies of {@link createMailer}. */
interface MailerDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly keys: EncryptionKeys;
  /** Current settings: operators may change them. */
  readonly settings: () => MailSettings;
  /** For tests. */
  readonly resolve?: Resolve;
}

const WAIT_SECONDS = 60;
const TEXT_CHARS_MAX = 64 * 1024;
const SUBJECT_CHARS_MAX = 200;

/** Context of the encrypted text of an email that waits. */
const CONTEXT = 'mail';

/** Encrypts the text of an email. */
const sealText = (keys: EncryptionKeys, text: string): Buffer => seal(keys, text, CONTEXT);

/** @throws {Error} if no listed key decrypts the text. */
export const unsealText = (keys: EncryptionKeys, sealed: Buffer): string => unseal(keys, sealed, CONTEXT);

export function createMailer(deps: MailerDeps): Mailer {
  const { sql, log, keys, settings, resolve } = deps;
  async function attempt(mail: Mail, project: string | null = null): Promise<MailResult> {
    const result = problemOf(mail) ?? (await deliver(settings(), mail, resolve));
    const { status, error: reason, reply } = result;
    // The log must contain neither the address nor the text of the email.
    if (reason !== null) log.warn({ project, status, reason, reply }, 'Email not sent');
    await record(sql, project, mail.to, result).catch((error: unknown) =>
      log.error({ err: error }, 'The result of an email could not be recorded'),
    );
    return result;
  }
  return {
    settings,
    isOn: () => settings().target !== null,
    attempt,
    async send(mail) {
      const result = await attempt(mail);
      // Without a response, the server is unavailable or misconfigured, which the caller should know.
      if (!result.isTemporary || result.status === null) return result;
      await sql`
        INSERT INTO control.mail (recipient, subject, sealed, attempt, due_at)
        VALUES (${mail.to}, ${mail.subject}, ${sealText(keys, mail.text)}, 1, now() + ${WAIT_SECONDS} * interval '1 second')`;
      return { ...result, error: null };
    },
    async check() {
      const { target, from } = settings();
      if (target?.kind === 'smtp' && from !== null) return checkSmtp(target, from, resolve);
      return target === null ? refused(NO_MAIL) : { status: null, error: null, isTemporary: false, reply: null };
    },
  };
}

function deliver({ target, from }: MailSettings, mail: Mail, resolve?: Resolve): Promise<MailResult> | MailResult {
  if (target === null) return refused(NO_MAIL);
  if (target.kind === 'smtp')
    return from === null ? refused('MAIL_FROM is not set') : sendBySmtp(target, from, mail, resolve);
  return deliverByPost(target.url, mail, resolve);
}

async function deliverByPost(url: string, mail: Mail, resolve?: Resolve): Promise<MailResult> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'platform' };
  const result = await post({ url, headers, body: JSON.stringify(mail), isPrivate: true }, resolve);
  const { status } = result;
  const isTemporary = result.error !== null && (status === null || status >= 500 || status === 408 || status === 429);
  return { ...result, isTemporary, reply: null };
}

const refused = (error: string): MailResult => ({ status: null, error, isTemporary: false, reply: null });

/** Line breaks in an address or a subject would begin another header. */
function problemOf({ to, subject, text }: Mail): MailResult | null {
  if (!isMailAddress(to)) return refused('The address of the recipient is not valid');
  if (subject.length > SUBJECT_CHARS_MAX || /\p{Cc}/u.test(subject)) return refused('The subject is not valid');
  return text.length > TEXT_CHARS_MAX ? refused('The text is too long') : null;
}

/** Records the last email that was sent, or the last failure. */
async function record(sql: Sql, project: string | null, to: string, { error, reply }: MailResult): Promise<void> {
  const kind = error === null ? 'sent' : 'failed';
  const recipient = `${to.slice(0, 1)}…${to.slice(to.lastIndexOf('@'))}`.slice(0, 300);
  await sql`
    INSERT INTO control.mail_outcome AS outcome (kind, at, count, project, recipient, error, reply)
    VALUES (${kind}, now(), 1, ${project}, ${recipient}, ${error}, ${reply})
    ON CONFLICT (kind) DO UPDATE SET at = excluded.at, count = outcome.count + 1, project = excluded.project,
      recipient = excluded.recipient, error = excluded.error, reply = excluded.reply`;
}

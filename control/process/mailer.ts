// How parts of the API process send emails. Implemented by outbound/send-mail.ts.
import type { MailSettings } from '#core/mail-target.ts';
import type { AttemptResult } from '#core/outbound/post.ts';

/** An email in plain text. */
export interface Mail {
  readonly to: string;
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

/** The result of an attempt. `status` is a status of HTTP or of SMTP. */
export interface MailResult extends AttemptResult {
  /** Whether a later attempt may succeed. */
  readonly isTemporary: boolean;
  /** Reply of the mail server, for operators. */
  readonly reply: string | null;
}

/** Sends emails. */
export interface Mailer {
  /** Current settings: operators may change them. */
  settings(): MailSettings;
  /** Whether emails are sent. */
  isOn(): boolean;
  /**
   * Sends an email once. Never throws. @param project the project whose app sends the email; null means the platform.
   */
  attempt(mail: Mail, project?: string | null): Promise<MailResult>;
  /** Like `attempt`, but an email that the mail server asks to send later is queued, and counts as sent. */
  send(mail: Mail): Promise<MailResult>;
  /** Signs in at the mail server without sending an email. */
  check(): Promise<MailResult>;
}

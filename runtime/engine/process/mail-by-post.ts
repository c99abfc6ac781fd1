// Sends emails of apps if no API process runs next to the engine: posts JSON `{to, subject, text}` to AUTH_MAIL_URL.
// Used by stores.ts. Otherwise, emails go through Postgres (runtime/stores/mail-postgres.ts).
import type { UsersDeps } from '../auth/site.ts';

/** @param address the URL; '' means that no emails are sent. */
export function createMailByPost(address: string, log: UsersDeps['log']): Pick<UsersDeps, 'deliversMail' | 'sendMail'> {
  return {
    deliversMail: () => Promise.resolve(address !== ''),
    async sendMail(mail) {
      if (address === '') {
        // The email is logged without its content, because readers of logs must not be able to sign in with it.
        log('warn', `mail not sent, AUTH_MAIL_URL is not set: "${mail.subject}"`);
        return;
      }
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(mail),
        signal: AbortSignal.timeout(10_000),
      }).catch((error: Error) => {
        // The original message is not logged, because it may contain the URL with a password.
        throw new Error(`mail not sent, AUTH_MAIL_URL is unreachable: ${error.name}`);
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`mail not sent, AUTH_MAIL_URL answered ${response.status}`);
    },
  };
}

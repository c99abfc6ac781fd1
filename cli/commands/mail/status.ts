// `platform mail status`: shows how the platform sends emails, with the last email and the last failure. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { plain } from '../../terminal/plain.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print } from '../../terminal/table.ts';

interface Outcome {
  readonly at: string;
  readonly project: string | null;
  readonly recipient: string;
  readonly error: string | null;
  readonly reply: string | null;
}

interface MailState {
  readonly kind: 'smtp' | 'post' | null;
  readonly server: string | null;
  readonly from: string | null;
  readonly waiting: number;
  readonly lastSent: Outcome | null;
  readonly lastFailure: Outcome | null;
}

export const command = defineCommand({
  meta: { name: 'status', description: 'Show how emails are sent, the last email and the last failure' },
  args: { ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform mail status');
    const state = await ask<MailState>(api, 'GET', '/operator/mail');
    print(shell, args.json, state, () => {
      const { kind, server, from, waiting, lastSent, lastFailure } = state;
      const by = kind === 'smtp' ? `by SMTP to ${server}, from ${from}` : `by POST to ${server}`;
      shell.out(kind === null ? 'No mail is set up: see AUTH_MAIL_URL' : plain(`Emails are sent ${by}`));
      shell.out(`Waiting       ${waiting}`);
      shell.out(`Last sent     ${lastSent === null ? 'none' : plain(lineOf(lastSent))}`);
      shell.out(`Last failure  ${lastFailure === null ? 'none' : plain(lineOf(lastFailure))}`);
    });
  },
});

function lineOf({ at, project, recipient, error, reply }: Outcome): string {
  const what = error === null ? '' : `: ${error}${reply === null ? '' : `: ${reply}`}`;
  return `${formatTime(at)}, to ${recipient}${project === null ? '' : `, from the app ${project}`}${what}`;
}

// `platform mail test <address>`: sends a test email. For operators.
import { defineCommand } from 'citty';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { plain } from '../../terminal/plain.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'test', description: 'Send a test email' },
  args: {
    to: { type: 'positional', required: true, description: 'Email address' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform mail test');
    const sent = await ask<{ server: string }>(api, 'POST', '/operator/mail/test', { body: { to: args.to } });
    print(shell, args.json, sent, () =>
      shell.out(plain(`${shell.paint('green', 'Sent')} to ${args.to}: ${sent.server} accepted it`)),
    );
  },
});

// `platform tokens list`: lists the user's API tokens, without secrets.
import { defineCommand } from 'citty';
import type { Token } from '../../api/records.ts';
import { allOf } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List your tokens' },
  args: { ...platformFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform tokens list');
    const tokens = await allOf<Token>(api, '/tokens');
    print(shell, args.json, { tokens }, () =>
      printTable(shell, {
        columns: ['name', 'token', 'scope', 'expires', 'last used', 'id'],
        rows: tokens.map(({ name, hint, scope, expiresAt, lastUsedAt, id }) => [
          name,
          `${hint}...`,
          scope,
          formatTime(expiresAt),
          formatTime(lastUsedAt),
          id,
        ]),
        empty: 'You have no tokens',
      }),
    );
  },
});

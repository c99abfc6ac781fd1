// `platform tokens revoke <token>`: revokes a token.
import { defineCommand } from 'citty';
import type { Token } from '../../api/records.ts';
import { allOf, ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'revoke', description: 'Revoke a token' },
  args: {
    id: { type: 'positional', required: true, description: 'ID, or name if unique' },
    ...yesFlag,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform tokens revoke');
    const tokens = await allOf<Token>(api, '/tokens');
    const found = tokens.filter(({ id, name }) => id === args.id || name === args.id);
    const [token] = found;
    if (token === undefined || found.length > 1)
      throw new CliError(
        token === undefined ? `You have no token "${args.id}"` : `${found.length} tokens are named ${args.id}`,
        {
          exitCode: 2,
          advice: '`platform tokens list` shows the IDs.',
        },
      );
    await confirm(shell, args.yes, `The token ${token.name} (${token.hint}...) will be revoked.`);
    await ask(api, 'DELETE', `/tokens/${encodeURIComponent(token.id)}`);
    print(shell, args.json, { revoked: token.id }, () => shell.out(`${shell.paint('green', 'Revoked')} ${token.name}`));
  },
});

// `platform tokens create <name>`: makes a token for the API; its secret is printed this once.
import { defineCommand } from 'citty';
import { organizationOf, projectOf, targetFlags } from '../../api/project.ts';
import type { Token } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print } from '../../terminal/table.ts';

const SCOPES = ['read', 'deploy', 'write', 'admin'];

export const command = defineCommand({
  meta: { name: 'create', description: 'Make a token' },
  args: {
    name: { type: 'positional', required: true, description: 'What it is for' },
    scope: {
      type: 'string',
      valueHint: 'scope',
      default: 'deploy',
      description: `${SCOPES.join(', ')}: each has those before it`,
    },
    days: {
      type: 'string',
      valueHint: 'n',
      description: 'Days until it expires (default: 90, or as long as the token of your login); 0: never',
    },
    project: { type: 'string', alias: 'p', valueHint: 'name', description: 'Only for one project' },
    org: { ...targetFlags.org, description: 'Only for one organization, by slug or id' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { name, scope } = args;
    if (!SCOPES.includes(scope))
      throw new CliError(`--scope is one of ${SCOPES.join(', ')}`, { exitCode: 2, advice: 'read may look only.' });
    const days =
      args.days === undefined ? undefined : wholeNumber('platform tokens create', '--days', args.days, 0, 3650);
    const api = await needApi(shell, args, 'platform tokens create');
    const project =
      args.project === undefined ? null : await projectOf(shell, api, { name: args.project, org: args.org });
    const organizationId =
      project?.organizationId ?? (args.org === undefined ? null : (await organizationOf(api, args.org)).id);
    const made = await ask<Token & { token: string }>(api, 'POST', '/tokens', {
      body: {
        name,
        scope,
        ...(organizationId !== null && { organizationId }),
        ...(project !== null && { projectId: project.id }),
        ...(days !== undefined && { expiresInDays: days === 0 ? null : days }),
      },
    });
    print(shell, args.json, made, () => {
      shell.out(made.token);
      const until = formatTime(made.expiresAt);
      const end = until === null ? 'does not expire' : `expires ${until}`;
      shell.err(
        `${shell.paint('green', 'Created')} ${name} (${scope}), which ${end}. This is the only time that it is shown.`,
      );
    });
  },
});

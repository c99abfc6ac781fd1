// `platform tokens create <name>`: creates an API token; its secret is printed only once.
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
  meta: { name: 'create', description: 'Create a token' },
  args: {
    name: { type: 'positional', required: true, description: 'Name of the token' },
    scope: {
      type: 'string',
      valueHint: 'scope',
      default: 'deploy',
      description: `${SCOPES.join(', ')}: each includes the previous ones`,
    },
    days: {
      type: 'string',
      valueHint: 'n',
      description: 'Days until it expires (default: 90, or the expiry of your login); 0: never',
    },
    project: { type: 'string', alias: 'p', valueHint: 'name', description: 'Limit the token to a project' },
    org: { ...targetFlags.org, description: 'Limit the token to an organization, by slug or ID' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { name, scope } = args;
    if (!SCOPES.includes(scope))
      throw new CliError(`--scope must be one of ${SCOPES.join(', ')}`, { exitCode: 2, advice: 'read is read-only.' });
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
      shell.err(`${shell.paint('green', 'Created')} ${name} (${scope}), which ${end}. It is shown only once.`);
    });
  },
});

// `platform cron run <name>`: runs a schedule now.
import { defineCommand } from 'citty';
import { needProject } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { resourceFlags } from '../../api/resource.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'run', description: 'Run a schedule now' },
  args: {
    schedule: { type: 'positional', required: true, description: 'Name in `cron:` of platform.yaml' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform cron run');
    const path = `/projects/${encodeURIComponent(project.id)}/schedules`;
    const query = { branch: args.branch };
    const { items } = await ask<{ items: readonly { name: string }[] }>(api, 'GET', path, { query });
    const names = items.map(({ name }) => name);
    if (!names.includes(args.schedule))
      throw new CliError(`${project.name} has no schedule "${args.schedule}"`, {
        exitCode: 2,
        advice:
          names.length === 0 ? 'Add schedules under `cron:` in platform.yaml.' : `Schedules: ${names.join(', ')}.`,
      });
    const { triggered } = await ask<{ triggered: boolean }>(api, 'POST', `${path}/run`, {
      query: { branch: args.branch, name: args.schedule },
    });
    if (!triggered)
      throw new CliError(`${args.schedule} is already running`, { advice: 'Try again when the run has finished.' });
    print(shell, args.json, { schedule: args.schedule, triggered }, () =>
      shell.out(`${shell.paint('green', 'Started')} ${args.schedule}; see \`platform logs\` for its output`),
    );
  },
});

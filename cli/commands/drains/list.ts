// `platform drains list`: lists the log drains of a project.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import type { Drain } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';
import { drainsPath, targetOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the log drains' },
  args: { ...targetFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform drains list');
    const drains = await ask<readonly Drain[]>(api, 'GET', drainsPath(project));
    print(shell, args.json, { project: project.name, drains }, () =>
      printTable(shell, {
        columns: ['name', 'state', 'target', 'level', 'last delivery', 'problem', 'id'],
        rows: drains.map((drain) => [
          drain.name,
          drain.state,
          targetOf(drain),
          drain.level,
          formatTime(drain.deliveredAt),
          drain.error,
          drain.id,
        ]),
        empty: `${project.name} has no log drains: \`platform drains add --url <url>\``,
      }),
    );
  },
});

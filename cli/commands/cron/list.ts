// `platform cron list`: lists the schedules of a project with next and last run.
import { defineCommand } from 'citty';
import type { ScheduleStatus } from '#core/resource-call/timers.ts';
import { needProject } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { resourceFlags } from '../../api/resource.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the schedules of this project' },
  args: resourceFlags,
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform cron list');
    const path = `/projects/${encodeURIComponent(project.id)}/schedules`;
    const { items } = await ask<{ items: readonly ScheduleStatus[] }>(api, 'GET', path, {
      query: { branch: args.branch },
    });
    print(shell, args.json, { project: project.name, schedules: items }, () =>
      printTable(shell, {
        columns: ['name', 'schedule', 'zone', 'next', 'last', 'outcome'],
        rows: items.map(({ name, schedule, timezone, nextAt, lastAt, lastOutcome }) => [
          name,
          schedule,
          timezone,
          new Date(nextAt).toISOString(),
          lastAt === null ? null : new Date(lastAt).toISOString(),
          lastOutcome,
        ]),
        empty: `${project.name} has no schedules`,
      }),
    );
  },
});

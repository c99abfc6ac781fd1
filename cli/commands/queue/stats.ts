// `platform queue stats [queue]`: shows counts of one queue or all queues of a project.
import { defineCommand } from 'citty';
import { needProject } from '../../api/project.ts';
import { needResource, resourceFlags, resourcesOf } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

interface Stats {
  readonly backlogCount: number;
  readonly inFlightCount: number;
  readonly oldestMessageTimestamp: number | null;
  readonly deadCount: number;
}

export const command = defineCommand({
  meta: { name: 'stats', description: 'Show message counts of queues' },
  args: {
    queue: { type: 'positional', required: false, description: 'Binding or name of the queue (default: all)' },
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform queue stats');
    const names =
      args.queue === undefined
        ? (await resourcesOf(api, project, args.branch, 'queue')).map(({ binding }) => binding)
        : [(await needResource(shell, args, 'queue', args.queue, 'platform queue stats')).binding];
    const queues = await Promise.all(
      names.map(async (queue) => {
        const path = `/projects/${encodeURIComponent(project.id)}/queues/${encodeURIComponent(queue)}/stats`;
        return { queue, ...(await ask<Stats>(api, 'GET', path, { query: { branch: args.branch } })) };
      }),
    );
    print(shell, args.json, { project: project.name, queues }, () =>
      printTable(shell, {
        columns: ['queue', 'messages', 'in delivery', 'dead', 'oldest'],
        rows: queues.map((one) => [
          one.queue,
          one.backlogCount,
          one.inFlightCount,
          one.deadCount,
          one.oldestMessageTimestamp === null ? null : new Date(one.oldestMessageTimestamp).toISOString(),
        ]),
        empty: `${project.name} has no queues`,
      }),
    );
  },
});

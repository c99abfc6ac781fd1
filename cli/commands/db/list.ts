// `platform db list`: lists the databases of a project.
import { defineCommand } from 'citty';
import { needProject } from '../../api/project.ts';
import { resourceFlags, resourcesOf } from '../../api/resource.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the databases' },
  args: { ...resourceFlags },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform db list');
    const databases = (await resourcesOf(api, project, args.branch, 'db')).map(({ binding, resource }) => ({
      binding,
      resource,
    }));
    print(shell, args.json, { project: project.name, databases }, () =>
      printTable(shell, {
        columns: ['binding', 'database'],
        rows: databases.map(({ binding, resource }) => [binding, resource]),
        empty: `${project.name} has no databases`,
      }),
    );
  },
});

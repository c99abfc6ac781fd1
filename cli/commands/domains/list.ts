// `platform domains list`: the custom domains of a project.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import type { Domain } from '../../api/records.ts';
import { allOf } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the custom domains' },
  args: { ...targetFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform domains list');
    const domains = await allOf<Domain>(api, `/projects/${encodeURIComponent(project.id)}/domains`);
    print(shell, args.json, { project: project.name, domains }, () =>
      printTable(shell, {
        columns: ['hostname', 'status', 'leads to', 'id'],
        rows: domains.map(({ hostname, status, branch, redirectTo, id }) => [
          hostname,
          status,
          redirectTo ?? branch ?? 'production',
          id,
        ]),
        empty: `${project.name} has no custom domains: \`platform domains add <hostname>\``,
      }),
    );
  },
});

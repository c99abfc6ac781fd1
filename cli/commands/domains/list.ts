// `platform domains list`: lists the custom domains of a project.
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
        columns: ['hostname', 'status', 'leads to', 'certificate', 'problem', 'id'],
        rows: domains.map(({ hostname, unicode, status, branch, redirectTo, certificate, problem, id }) => [
          unicode === undefined || unicode === hostname ? hostname : `${hostname} (${unicode})`,
          status,
          redirectTo ?? branch ?? 'production',
          certificate?.expiresAt == null ? '' : `until ${certificate.expiresAt.slice(0, 10)}`,
          problem ?? '',
          id,
        ]),
        empty: `${project.name} has no custom domains: \`platform domains add <hostname>\``,
      }),
    );
  },
});

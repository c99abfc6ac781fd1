// `platform domains add <hostname>`: adds a custom domain to a project, and prints the DNS records to create.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import type { Domain } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'add', description: 'Add a custom domain' },
  args: {
    hostname: { type: 'positional', required: true, description: 'For example www.example.com' },
    branch: {
      type: 'string',
      alias: 'b',
      valueHint: 'name',
      description: 'Branch to serve (default: production)',
    },
    redirect: {
      type: 'string',
      valueHint: 'hostname',
      description: 'Redirect to another domain of the project',
    },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform domains add');
    const { hostname, branch, redirect } = args;
    const domain = await ask<Domain>(api, 'POST', `/projects/${encodeURIComponent(project.id)}/domains`, {
      body: {
        hostname,
        ...(branch !== undefined && { branch }),
        ...(redirect !== undefined && { redirectTo: redirect }),
      },
    });
    print(shell, args.json, domain, () => {
      shell.out(`${shell.paint('green', 'Added')} ${domain.hostname} to ${project.name}: ${domain.status}`);
      if (domain.verifiedAt != null) return;
      const [proof, ...way] = domain.records ?? [];
      if (proof !== undefined) shell.out(`  create this DNS record: ${proof.type} ${proof.name} ${proof.value}`);
      for (const { type, name, value } of way) shell.out(`  and this address record: ${type} ${name} ${value}`);
      if (way.some(({ type }) => type === 'CNAME')) shell.out('  (the CNAME record alone also proves ownership)');
      shell.out(`  then: platform domains verify ${domain.hostname}`);
    });
  },
});

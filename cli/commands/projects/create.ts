// `platform projects create <name>`: creates a project, optionally from a Git repository.
import { defineCommand } from 'citty';
import { organizationOf, targetFlags } from '../../api/project.ts';
import type { Project } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'create', description: 'Create a project' },
  args: {
    name: { type: 'positional', required: true, description: 'Name, the first part of its host' },
    description: { type: 'string', valueHint: 'text', description: 'Description' },
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform projects create');
    const { id: organizationId, slug } = await organizationOf(api, args.org);
    const { name, description } = args;
    const project = await ask<Project>(api, 'POST', '/projects', {
      body: { name, organizationId, ...(description !== undefined && { description }) },
    });
    print(shell, args.json, project, () => {
      shell.out(`${shell.paint('green', 'Created')} ${project.name} (${project.id}) in ${slug}`);
      shell.out(shell.paint('dim', `  platform link ${project.name}, then platform deploy`));
    });
  },
});

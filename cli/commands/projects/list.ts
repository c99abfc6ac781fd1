// `platform projects list`: lists the projects of an organization, or of all the user's organizations.
import { defineCommand } from 'citty';
import { organizationsOf, projectsOf, targetFlags } from '../../api/project.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, print, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the projects' },
  args: {
    search: { type: 'string', valueHint: 'text', description: 'Only names that contain this text' },
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform projects list');
    const [projects, organizations] = [await projectsOf(api, args.org, args.search), await organizationsOf(api)];
    const slugs = new Map(organizations.map(({ id, slug }) => [id, slug]));
    print(shell, args.json, { projects }, () =>
      printTable(shell, {
        columns: ['name', 'organization', 'production', 'created', 'id'],
        rows: projects.map((one) => [
          one.name,
          slugs.get(one.organizationId) ?? one.organizationId,
          one.productionDeploymentId,
          formatTime(one.createdAt),
          one.id,
        ]),
        empty: 'No projects yet: create a project with `platform deploy` or `platform projects create <name>`',
      }),
    );
  },
});

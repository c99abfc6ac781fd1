// `platform link [project]`: links this folder to a project of a platform.
import path from 'node:path';
import { defineCommand } from 'citty';
import { organizationsOf, projectOf, targetFlags } from '../api/project.ts';
import { needApi } from '../api/target.ts';
import { writeLink } from '../project/link.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'link', description: 'Link this folder to a project of a platform' },
  args: {
    project: {
      type: 'positional',
      required: false,
      description: 'Name or ID (default: `name` of platform.yaml, the folder, or the Git repository)',
    },
    org: targetFlags.org,
    config: targetFlags.config,
    api: targetFlags.api,
    token: targetFlags.token,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform link', { isLinkIgnored: true });
    const flags = { ...args, name: args.project };
    const project = await projectOf(shell, api, flags, { isLinkIgnored: true });
    const link = { apiUrl: api.origin, projectId: project.id, organizationId: project.organizationId };
    const file = writeLink(shell.cwd, link);
    const organization = (await organizationsOf(api)).find(({ id }) => id === project.organizationId);
    print(shell, args.json, { file, ...link, project: project.name }, () => {
      const whose = organization === undefined ? '' : ` of ${organization.slug}`;
      shell.out(`${shell.paint('green', 'Linked')} this folder to ${project.name}${whose} on ${api.origin}`);
      shell.out(shell.paint('dim', `  stored in ${path.relative(shell.cwd, file)}`));
    });
  },
});

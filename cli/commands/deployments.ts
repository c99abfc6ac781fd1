// `platform deployments`: what a project has on the platform of this machine, and which of it is served where.
import { defineCommand } from 'citty';
import { previewOf } from '#core/preview.ts';
import type { Shell } from '../terminal/shell.ts';
import { findDeployed, projectFlags, urlsOf } from '../project/target.ts';

export const command = defineCommand({
  meta: { name: 'deployments', description: 'List the deployments of this project' },
  args: {
    ...projectFlags,
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only those of a branch' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { platform, route } = await findDeployed(shell, args);
    const rows = Object.values(route.deployments)
      .filter(({ branch }) => args.branch === undefined || branch === args.branch)
      .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
      .map(({ id, branch, createdAt, artifact }) => ({
        deployment: id,
        branch,
        createdAt,
        artifact,
        production: route.production === id,
        preview: previewOf(route, id) !== null,
        urls: urlsOf(platform, route, id),
      }));
    if (args.json) {
      shell.out(
        JSON.stringify({ project: route.project, plan: route.plan, production: route.production, deployments: rows }),
      );
      return;
    }
    const width = Math.max(0, ...rows.map(({ branch }) => branch.length));
    for (const { deployment, branch, createdAt, production, urls } of rows) {
      const time = createdAt.slice(0, 16).replace('T', ' ');
      const line = `${deployment}  ${branch.padEnd(width)}  ${time}  ${shell.paint('cyan', urls[0]!)}`;
      shell.out(production ? `${line} ${shell.paint('green', 'production')}` : line);
    }
  },
});

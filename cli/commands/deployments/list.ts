// `platform deployments list`: lists the deployments of a project with status and URLs.
import { defineCommand } from 'citty';
import { projectOf, targetFlags } from '../../api/project.ts';
import { guardedText, statusText } from '../../api/deployment-text.ts';
import type { Deployment } from '../../api/records.ts';
import { allOf } from '../../api/requests.ts';
import { findApi } from '../../api/target.ts';
import { listRouteDeployments } from '../../routes/route-deployments.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatTime, printTable } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'list', description: 'List the deployments, newest first' },
  args: {
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only this branch' },
    limit: { type: 'string', valueHint: 'n', default: '20', description: 'Maximum number' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const limit = wholeNumber('platform deployments list', '--limit', args.limit, 1, 10_000);
    const api = await findApi(shell, args);
    if (api === null) return listRouteDeployments(shell, args);
    const project = await projectOf(shell, api, args);
    const query = { projectId: project.id, branch: args.branch, limit: Math.min(limit, 100) };
    const found = await allOf<Deployment>(api, '/deployments', query, limit);
    const deployments = found.map((one) => ({
      deployment: one.id,
      branch: one.branch,
      status: one.status,
      reason: one.reason,
      createdAt: one.createdAt,
      commit: one.commitSha,
      production: project.productionDeploymentId === one.id,
      preview: one.target === 'preview',
      guardedRelease: one.guardedRelease ?? null,
      urls: [...one.aliasUrls, ...(one.url === null ? [] : [one.url])],
    }));
    if (args.json)
      return shell.out(
        JSON.stringify({ project: project.name, production: project.productionDeploymentId, deployments }),
      );
    printTable(shell, {
      columns: ['deployment', 'branch', 'status', 'created', 'url'],
      rows: deployments.map((one) => [
        one.deployment,
        one.branch,
        one.production ? 'production' : (guardedText(one) ?? statusText(one)),
        formatTime(one.createdAt),
        one.status === 'success' ? (one.urls[0] ?? null) : null,
      ]),
      empty: `${project.name} has no deployments yet: \`platform deploy\``,
    });
  },
});

// Lists deployments from a project's route record, for a local platform without a control plane.
import { previewOf } from '#core/preview.ts';
import { findDeployed, urlsOf } from '../project/target.ts';
import { formatTime } from '../terminal/table.ts';
import type { Shell } from '../terminal/shell.ts';

/** Filters and output format. */
interface Flags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly branch?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Prints deployments, newest first. */
export async function listRouteDeployments(shell: Shell, flags: Flags): Promise<void> {
  const { platform, route } = await findDeployed(shell, flags);
  const rows = Object.values(route.deployments)
    .filter(({ branch }) => flags.branch === undefined || branch === flags.branch)
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
  if (flags.json) {
    shell.out(
      JSON.stringify({ project: route.project, plan: route.plan, production: route.production, deployments: rows }),
    );
    return;
  }
  const width = Math.max(0, ...rows.map(({ branch }) => branch.length));
  for (const { deployment, branch, createdAt, production, urls } of rows) {
    const line = `${deployment}  ${branch.padEnd(width)}  ${formatTime(createdAt)}  ${shell.paint('cyan', urls[0]!)}`;
    shell.out(production ? `${line} ${shell.paint('green', 'production')}` : line);
  }
}

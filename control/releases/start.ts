// Starts the background work of releases in the API process: releases, route records, removals, retention. Called by
// main.ts.
import type { Dependencies } from '../process/dependencies.ts';
import { finishBranchRemovals } from './branch-removal.ts';
import { followRoutes } from './project-routes.ts';
import { keepRetention } from './retention.ts';
import { runReleases } from './release-jobs.ts';

export function startDeployments(parts: Dependencies): void {
  parts.background('Following routes', () => followRoutes(parts));
  parts.background('Releasing', () => runReleases(parts));
  parts.background('Removing branches', () => finishBranchRemovals(parts));
  parts.background('Retention', () => keepRetention(parts));
}

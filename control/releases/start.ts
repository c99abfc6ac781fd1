// Starts the background work of releases in the API process: releases, guarded releases, route records, removals,
// retention. Called by main.ts.
import type { Dependencies } from '../process/dependencies.ts';
import { finishBranchRemovals } from './branch-removal.ts';
import { judgeReleases } from './judge-next.ts';
import { followDeletedClasses } from './object-classes.ts';
import { followDataRemovals } from './project-removal.ts';
import { followRoutes } from './project-routes.ts';
import { keepRetention } from './retention.ts';
import { runReleases } from './release-jobs.ts';
import { uploadOwnArtifacts } from './stored-artifacts.ts';

export function startDeployments(deps: Dependencies): void {
  deps.background('Uploading artifacts', () => uploadOwnArtifacts(deps));
  deps.background('Following routes', () => followRoutes(deps));
  deps.background('Releasing', () => runReleases(deps));
  deps.background('Judging guarded releases', () => judgeReleases(deps));
  deps.background('Removing branches', () => finishBranchRemovals(deps));
  deps.background('Removing data of deleted projects', () => followDataRemovals(deps));
  deps.background('Deleting objects of deleted classes', () => followDeletedClasses(deps));
  deps.background('Retention', () => keepRetention(deps));
}

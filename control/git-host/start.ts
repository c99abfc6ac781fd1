// Starts what the API process does for the Git host beside requests.
import type { Dependencies } from '../process/dependencies.ts';
import { followDeliveries } from './deliveries.ts';
import { followReports } from './reports.ts';

/** Works on deliveries and tells of deployments, until the process ends. */
export function startGitHost(parts: Dependencies): void {
  parts.background('Deliveries of the Git host', () => followDeliveries(parts));
  parts.background('Reports to the Git host', () => followReports(parts));
}

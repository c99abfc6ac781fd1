// Starts the background work of the API process for the Git host.
import type { Dependencies } from '../process/dependencies.ts';
import { followDeliveries } from './deliveries.ts';
import { followReports } from './reports.ts';

/** Processes deliveries and sends reports until the process ends. */
export function startGitHost(deps: Dependencies): void {
  deps.background('Deliveries of the Git host', () => followDeliveries(deps));
  deps.background('Reports to the Git host', () => followReports(deps));
}

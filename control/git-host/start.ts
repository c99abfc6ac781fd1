// Starts the background work of the API process for the Git host.
import type { Dependencies } from '../process/dependencies.ts';
import { followDeliveries } from './deliveries.ts';
import { followReports } from './reports.ts';

/** Processes deliveries and sends reports until the process ends. */
export function startGitHost(parts: Dependencies): void {
  parts.background('Deliveries of the Git host', () => followDeliveries(parts));
  parts.background('Reports to the Git host', () => followReports(parts));
}

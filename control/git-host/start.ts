// Starts the background work of the API process for Git hosts.
import type { Dependencies } from '../process/dependencies.ts';
import { followDeliveries } from './deliveries.ts';
import { followPolls } from './remote-polls.ts';
import { followReports } from './reports.ts';
import { followChecks } from './token-repositories.ts';

/** Processes deliveries, sends reports, checks repositories and polls remotes until the process ends. */
export function startGitHost(deps: Dependencies): void {
  deps.background('Processing deliveries of the Git host', () => followDeliveries(deps));
  deps.background('Sending reports to the Git host', () => followReports(deps));
  deps.background('Polls of remotes', () => followPolls(deps));
  deps.background('Checks of repositories', () => followChecks(deps));
}

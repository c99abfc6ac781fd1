// Reads a project's log from the private port of a local platform without a control plane.
import { findDeployed } from '../project/target.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import type { LogLine, ReadLog } from '../project/log-line.ts';
import { askPlatform } from '../local/local-platform.ts';

interface Answer {
  readonly lines: readonly LogLine[];
  readonly next: string;
  readonly error?: string;
}

interface Flags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly branch?: string | undefined;
  readonly deployment?: string | undefined;
}

/** Returns a function that reads the new lines since its last call. */
export async function routeLog(shell: Shell, flags: Flags): Promise<ReadLog> {
  const found = await findDeployed(shell, flags);
  let { route } = found;
  let next = '';
  return async () => {
    const query = `project=${route.project}&after=${next}`;
    const { status, body } = await askPlatform<Answer>(found.platform, `/_platform/logs?${query}`);
    if (status !== 200) throw new CliError(`The platform did not return its log: ${body.error ?? `HTTP ${status}`}`);
    ({ next } = body);
    if (flags.branch !== undefined && body.lines.some(({ deployment }) => route.deployments[deployment] === undefined))
      ({ route } = await findDeployed(shell, flags));
    return body.lines.filter(
      ({ deployment }) =>
        (flags.deployment === undefined || deployment === flags.deployment) &&
        (flags.branch === undefined || route.deployments[deployment]?.branch === flags.branch),
    );
  };
}

// Waits until the platform has applied a route record. Called by the commands that change a route record.
import { recordHash } from '#artifacts/route-records.ts';
import { CliError } from '../terminal/failure.ts';
import { askPlatform, type LocalPlatform } from '../local/local-platform.ts';

const ROUTED_MS_MAX = 10_000;
const LOOK_MS = 25;

/**
 * Waits until all engines have loaded the record. Returns immediately if the platform cannot be queried.
 */
export async function untilRouted(platform: LocalPlatform, project: string): Promise<void> {
  if (platform.running?.privateOrigin == null) return;
  for (
    const until = performance.now() + ROUTED_MS_MAX;
    performance.now() < until;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  ) {
    // If another process has written a later record, that record includes this change too.
    const record = recordHash(platform.folder, project);
    const { body } = await askPlatform<{ routed?: boolean }>(platform, '/_platform/check', {
      body: { project, record },
    });
    if (body.routed === true) return;
  }
  throw new CliError(`The platform did not load the route record of ${project} within ${ROUTED_MS_MAX / 1000} s`, {
    advice: 'The output of `npm start` shows what is wrong with the route record.',
  });
}

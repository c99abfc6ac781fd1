// Waits until the platform serves what a route record says. Called by the commands that change one.
import { recordHash } from '#artifacts/route-records.ts';
import { CliError } from '../terminal/failure.ts';
import { askPlatform, type LocalPlatform } from '../local/local-platform.ts';

const ROUTED_MS_MAX = 10_000;
const LOOK_MS = 25;

/**
 * Until all engines have read the record: what it says holds from then on. Returns at once where nobody can be asked.
 */
export async function untilRouted(platform: LocalPlatform, project: string): Promise<void> {
  if (platform.running?.privateOrigin == null) return;
  for (
    const until = performance.now() + ROUTED_MS_MAX;
    performance.now() < until;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  ) {
    // Somebody else's change may have come after ours: it holds that one, too.
    const record = recordHash(platform.folder, project);
    const { body } = await askPlatform<{ routed?: boolean }>(platform, '/_platform/check', {
      body: { project, record },
    });
    if (body.routed === true) return;
  }
  throw new CliError(`The platform did not take the route record of ${project} within ${ROUTED_MS_MAX / 1000} s`, {
    advice: 'Its log says what is wrong with the route record: look at what `npm start` prints.',
  });
}

// Asks for the builder while builds wait that nobody works on: it runs on demand. Called by main.ts; who is asked (the
// supervisor) comes in as an argument.
import type { Dependencies } from '../process/dependencies.ts';

/** Should no word of a build have come, and as long as one waits. */
const POLL_MS = 2000;

/**
 * Looks when a build is made, and now and then.
 *
 * @param want asks for the builder; asked again while builds wait.
 */
export async function watchBuilds(
  parts: Pick<Dependencies, 'sql' | 'onNotify' | 'stopping'>,
  want: () => void,
): Promise<void> {
  let looking: Promise<void> | null = null;
  const look = (): void => {
    looking ??= lookOnce(parts, want)
      // Postgres is away: the next look finds them.
      .catch(() => {})
      .finally(() => (looking = null));
  };
  const unlisten = await parts.onNotify('control_job', (kind) => {
    if (kind !== 'build') return;
    want();
  });
  const timer = setInterval(look, POLL_MS);
  parts.stopping.addEventListener('abort', () => {
    clearInterval(timer);
    void unlisten().catch(() => {});
  });
  look();
}

async function lookOnce({ sql }: Pick<Dependencies, 'sql'>, want: () => void): Promise<void> {
  const [row] = await sql<{ waits: boolean }[]>`
    SELECT EXISTS (
      SELECT 1 FROM control.job j WHERE j.kind = 'build' AND j.due_at <= now()
        AND (j.lease IS NULL OR j.lease_until < now())) AS waits`;
  if (row!.waits) want();
}

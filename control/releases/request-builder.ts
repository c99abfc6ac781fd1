// Requests the builder, which runs on demand, while unclaimed builds are queued. main.ts calls this, and passes the
// request to the supervisor as a function.
import type { Dependencies } from '../process/dependencies.ts';

/** Interval of the checks that find builds after a lost notification, or while builds wait. */
const POLL_MS = 2000;

/**
 * Checks on each new build, and periodically.
 *
 * @param want requests the builder; called again while builds wait.
 */
export async function watchBuilds(
  deps: Pick<Dependencies, 'sql' | 'onNotify' | 'stopping'>,
  want: () => void,
): Promise<void> {
  let looking: Promise<void> | null = null;
  const look = (): void => {
    looking ??= lookOnce(deps, want)
      // Postgres is unavailable: the next check will find the builds.
      .catch(() => {})
      .finally(() => (looking = null));
  };
  const unlisten = await deps.onNotify('control_job', (kind) => {
    if (kind !== 'build') return;
    want();
  });
  const timer = setInterval(look, POLL_MS);
  deps.stopping.addEventListener('abort', () => {
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

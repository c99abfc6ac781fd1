// Processes deliveries of the Git host after they were acknowledged. Deliveries of one subject are processed in order,
// each until it is done. Deliveries claimed by a process that died are retried soon. Started by the API process.
import { backoffMs } from '#core/backoff.ts';
import { runRounds } from '#core/process/rounds.ts';
import type { Delivery } from '#git/host/delivery.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { StoredDelivery } from './delivery.ts';
import { handleInstallation, handleInstallationRepositories } from './installations.ts';
import { handlePullRequest } from './pull-requests.ts';
import { handleDeletion, handlePush } from './pushes.ts';
import { refreshRemote, type RemotePush } from './remote-refresh.ts';
import { handleRepository } from './repository-changes.ts';

const POLL_MS = 5000;
/** Number of deliveries of different subjects that are processed concurrently. */
const TOGETHER = 4;
/** Deliveries of a process that died become due after this time. */
const LEASE_MS = 60_000;
/** With these pauses, a delivery is still retried when the host has not responded for an hour. */
const ATTEMPTS_MAX = 24;
const pauses = { backoffMs: 1000, backoffMsMax: 5 * 60_000 };
const KEPT_DAYS = 90;
/**
 * Events that remove something and have no timestamp. The hashes of their bodies are kept forever to prevent replays.
 */
const REMOVING = ['delete', 'repository', 'installation', 'installation_repositories'];
const FORGET_MS = 3_600_000;

/** Processes deliveries until the process ends. */
export function followDeliveries(deps: Dependencies): Promise<void> {
  let forgotAt = -Infinity;
  const listen = (wake: () => void): Promise<() => Promise<void>> =>
    deps.onNotify('control_git', (payload) => payload === 'delivery' && wake());
  const failure = 'Deliveries of the Git host failed: retrying';
  return runRounds(deps, { failure, pollMs: POLL_MS, listen }, async () => {
    const done = await workOnDeliveries(deps);
    if (done === 0 && performance.now() - forgotAt > FORGET_MS) {
      forgotAt = performance.now();
      await forgetOld(deps);
    }
    return done > 0;
  });
}

/** Processes the due deliveries, several at a time. @returns the number of processed deliveries */
export async function workOnDeliveries(deps: Dependencies): Promise<number> {
  // A delivery that is being processed or waits for a retry blocks later deliveries of the same subject.
  const claimed = await deps.sql<Row[]>`
    UPDATE control.webhook_received AS row
       SET attempt = attempt + 1, due_at = now() + ${`${LEASE_MS} ms`}::interval
     WHERE delivery_id IN (
       SELECT delivery_id FROM control.webhook_received AS due
        WHERE due_at <= now() AND NOT EXISTS (
          SELECT FROM control.webhook_received AS earlier
           WHERE earlier.subject = due.subject AND earlier.seq < due.seq AND earlier.due_at IS NOT NULL)
        ORDER BY seq LIMIT ${TOGETHER} FOR UPDATE SKIP LOCKED)
    RETURNING delivery_id, seq, subject, details, received_at, attempt`;
  await Promise.all(claimed.map((row) => workOnOne(deps, row)));
  return claimed.length;
}

interface Row {
  readonly delivery_id: string;
  readonly seq: number;
  readonly subject: string;
  readonly details: Delivery | RemotePush;
  readonly received_at: Date;
  readonly attempt: number;
}

async function workOnOne(deps: Dependencies, row: Row): Promise<void> {
  const { delivery_id: deliveryId, seq, subject, received_at: receivedAt, attempt } = row;
  try {
    const outcome = await handle(deps, row.details, { deliveryId, seq, subject, receivedAt });
    await deps.sql`UPDATE control.webhook_received SET due_at = NULL, outcome = ${outcome}
                     WHERE delivery_id = ${deliveryId} AND attempt = ${attempt}`;
  } catch (error) {
    deps.log.error({ err: error, delivery: deliveryId }, 'A delivery of the Git host could not be processed');
    const isLast = attempt >= ATTEMPTS_MAX;
    const pause = `${backoffMs(pauses, attempt)} ms`;
    await deps.sql`
      UPDATE control.webhook_received
         SET due_at = ${isLast ? null : deps.sql`now() + ${pause}::interval`},
             outcome = ${isLast ? `failed: ${(error as Error).message.slice(0, 500)}` : null}
       WHERE delivery_id = ${deliveryId} AND attempt = ${attempt}`;
  }
}

function handle(deps: Dependencies, delivery: Delivery | RemotePush, stored: StoredDelivery): Promise<string> {
  switch (delivery.event) {
    case 'push':
      return handlePush(deps, delivery, stored);
    case 'delete':
      return handleDeletion(deps, delivery, stored);
    case 'repository':
      return handleRepository(deps, delivery);
    case 'pull_request':
      return handlePullRequest(deps, delivery, stored);
    case 'installation':
      return handleInstallation(deps, delivery);
    case 'installation_repositories':
      return handleInstallationRepositories(deps, delivery);
    case 'remote':
      return refreshRemote(deps, delivery, stored);
  }
}

/** Deletes old deliveries. For {@link REMOVING} events, only the details are deleted. */
export async function forgetOld({ sql }: Pick<Dependencies, 'sql'>): Promise<void> {
  const old = sql`received_at < now() - ${`${KEPT_DAYS} days`}::interval AND due_at IS NULL`;
  await sql`DELETE FROM control.webhook_received WHERE ${old} AND event <> ALL(${REMOVING})`;
  await sql`UPDATE control.webhook_received SET details = '{}' WHERE ${old} AND details <> '{}'`;
}

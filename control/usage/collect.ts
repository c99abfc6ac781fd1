// Takes usage of deployments from the supervisor of each handler into the ledger (store.ts), every few seconds. A
// stored batch is acknowledged by the next request; a batch that is sent again because this process ended in between is
// recognized by its id and counted once. Started by main.ts.
import { pause } from '#core/process/wake.ts';
import type { UsageBatch } from '#core/usage-row.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { HandlerPorts, PrivatePort } from '../process/private-port.ts';
import { addUsage, sweepMinutes } from './store.ts';

const EVERY_MS = 5000;
const WAIT_MS = 10_000;
const SWEEP_MS = 600_000;
const ACTOR = 'usage';

/** Takes batches of all handlers until the process shuts down. @param handlers private ports by handler. */
export async function collectUsage(deps: Dependencies, handlers: HandlerPorts['each']): Promise<void> {
  const { sql, stopping, log } = deps;
  let sweptAt = Number.NEGATIVE_INFINITY;
  while (!stopping.aborted) {
    try {
      if (performance.now() - sweptAt > SWEEP_MS) {
        await sweepMinutes(sql);
        sweptAt = performance.now();
      }
      await Promise.all(Array.from(await handlers(), ([handler, privatePort]) => takeAll(handler, privatePort)));
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'Usage not taken');
    }
    await pause(EVERY_MS, stopping);
  }

  /** Takes batches until a handler has no more. The request after a batch acknowledges it. */
  async function takeAll(handler: string, privatePort: PrivatePort): Promise<void> {
    let acknowledged: string | null = null;
    try {
      do acknowledged = await takeUsage({ privatePort, sql }, acknowledged);
      while (acknowledged !== null && !stopping.aborted);
    } catch (error) {
      log.warn({ handler, reason: (error as Error).message }, 'Usage not taken');
    }
  }
}

/**
 * Takes one batch and stores it.
 *
 * @param acknowledged id of the last stored batch. @returns the id of the new batch; null if there was none.
 * @throws {Error} if the supervisor or the database is unavailable: the same batch is then sent again.
 */
export async function takeUsage(
  { privatePort, sql }: Pick<Dependencies, 'privatePort' | 'sql'>,
  acknowledged: string | null,
): Promise<string | null> {
  const { status, body } = await privatePort.ask<UsageBatch>('/_platform/usage', { acknowledged }, WAIT_MS);
  if (status !== 200) throw new Error(`the platform answered ${status}`);
  const { id, rows } = body;
  if (id === null) return null;
  await sql.begin(async (tx) => {
    const known = await tx`
      INSERT INTO control.idempotency (actor, key, request) VALUES (${ACTOR}, ${id}, ${Buffer.alloc(0)})
      ON CONFLICT DO NOTHING RETURNING key`;
    if (known.length === 0) return;
    await addUsage(tx, rows);
  });
  return id;
}

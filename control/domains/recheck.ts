// Rechecks custom domains periodically: pending ones, and verified ones, since a domain can change its owner. Called by
// main.ts.
import type { Dependencies } from '../process/dependencies.ts';
import { readDomain, takeDueDomains } from '../records/domains.ts';
import { checkDomain } from './check-domain.ts';

const LOOK_MS = 15_000;
const LEASE_MS = 10 * 60_000;
const TOGETHER = 10;

export async function recheckDomains(deps: Dependencies): Promise<void> {
  const { stopping, log } = deps;
  while (!stopping.aborted) {
    const found = await recheckDueDomains(deps).catch((error: unknown) => {
      log.error({ err: error }, 'Domains not looked at');
      return 0;
    });
    if (found < TOGETHER) await pause(LOOK_MS, stopping);
  }
}

/** One round. @returns how many were checked. */
export async function recheckDueDomains(deps: Dependencies): Promise<number> {
  const ids = await takeDueDomains(deps.sql, TOGETHER, LEASE_MS);
  await Promise.all(
    ids.map(async (id) => {
      const row = await readDomain(deps.sql, id);
      if (row === null) return;
      const { row: now, proof } = await checkDomain(deps, row);
      const details = { domain: row.hostname, project: row.project_name };
      if (row.verified_at !== null && now?.verified_at === null)
        deps.log.warn({ ...details, reason: 'problem' in proof ? proof.problem : '' }, 'Domain lost');
      else if (row.verified_at === null && now?.verified_at != null) deps.log.info(details, 'Domain proved');
    }),
  );
  return ids.length;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}

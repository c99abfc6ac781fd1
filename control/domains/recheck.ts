// Rechecks custom domains periodically: pending ones, and verified ones, since a domain can change its owner. Called by
// main.ts.
import type { Dependencies } from '../process/dependencies.ts';
import { readDomain, takeDueDomains } from '../records/domains.ts';
import { checkDomain } from './check-domain.ts';

const LOOK_MS = 15_000;
const LEASE_MS = 10 * 60_000;
const TOGETHER = 10;

export async function recheckDomains(parts: Dependencies): Promise<void> {
  const { stopping, log } = parts;
  while (!stopping.aborted) {
    const found = await recheckDueDomains(parts).catch((error: unknown) => {
      log.error({ err: error }, 'Domains not looked at');
      return 0;
    });
    if (found < TOGETHER) await pause(LOOK_MS, stopping);
  }
}

/** One round. @returns how many were checked. */
export async function recheckDueDomains(parts: Dependencies): Promise<number> {
  const ids = await takeDueDomains(parts.sql, TOGETHER, LEASE_MS);
  await Promise.all(
    ids.map(async (id) => {
      const row = await readDomain(parts.sql, id);
      if (row === null) return;
      const { row: now, proof } = await checkDomain(parts, row);
      const details = { domain: row.hostname, project: row.project_name };
      if (row.verified_at !== null && now?.verified_at === null)
        parts.log.warn({ ...details, reason: 'problem' in proof ? proof.problem : '' }, 'Domain lost');
      else if (row.verified_at === null && now?.verified_at != null) parts.log.info(details, 'Domain proved');
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

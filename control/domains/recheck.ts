// Rechecks custom domains periodically: pending domains, and verified ones, since a domain can change its owner. Called
// by main.ts.
import { runRounds } from '#core/process/rounds.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { readDomain, takeDueDomains } from '../records/domains.ts';
import { checkDomain } from './check-domain.ts';

const LOOK_MS = 15_000;
const LEASE_MS = 10 * 60_000;
const TOGETHER = 10;

export function recheckDomains(deps: Dependencies): Promise<void> {
  const rounds = { failure: 'Domains could not be checked', pollMs: LOOK_MS };
  return runRounds(deps, rounds, async () => (await recheckDueDomains(deps)) === TOGETHER);
}

/** One round. @returns the number of checked domains. */
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

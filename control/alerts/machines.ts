// Notifies operators of machines that are lost, and of those that are back. Started by main.ts; each change is reported
// by one API process.
import { runRounds } from '#core/process/rounds.ts';
import { writeEvent } from './events.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { takeChanges } from '../records/machines.ts';

const LOOK_MS = 5000;
/** A restarted supervisor is back sooner. */
const LOST_SECONDS = 15;

/** Watches until the process ends. */
export function watchMachines(deps: Dependencies): Promise<void> {
  return runRounds(deps, { failure: 'Machines not watched', pollMs: LOOK_MS }, () => reportMachines(deps));
}

/** Reports what has changed since the last time. */
export async function reportMachines({ sql, log }: Dependencies): Promise<void> {
  await sql.begin(async (tx) => {
    const { lost, back } = await takeChanges(tx, LOST_SECONDS);
    for (const { name, seen_at: seen } of lost) {
      log.error({ machine: name }, 'Machine lost');
      await report('fired', name, `It was last seen at ${seen.toISOString()}. Its requests go to the other machines.`);
    }
    for (const name of back) {
      log.info({ machine: name }, 'Machine is back');
      await report('resolved', name, 'It is back.');
    }

    function report(type: 'fired' | 'resolved', name: string, message: string): Promise<string> {
      const of = { projectId: null, ruleId: null, value: null, channels: 'all' } as const;
      return writeEvent(tx, { ...of, type, name: `Machine ${name} is lost`, message });
    }
  });
}

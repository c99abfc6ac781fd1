// Notifies operators of machines that are lost or serve old routes, and when that has ended. Started by main.ts; only
// one API process reports each change.
import { runRounds } from '#core/process/rounds.ts';
import { writeEvent } from './events.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { takeChanges, takeOldRoutes } from '../records/machines.ts';

const LOOK_MS = 5000;
/** A restarting supervisor is back before this time, so that it is not reported as lost. */
const LOST_SECONDS = 15;
/** `forSeconds`: after an outage of Postgres, routes are old until the mirror checks again, which is not reported. */
const OLD_ROUTES = { ageSeconds: 60, forSeconds: 15 };

/** Watches until the process ends. */
export function watchMachines(deps: Dependencies): Promise<void> {
  return runRounds(deps, { failure: 'Machines not watched', pollMs: LOOK_MS }, () => reportMachines(deps));
}

/** Reports changes since the last call. */
export async function reportMachines({ sql, log }: Dependencies): Promise<void> {
  await sql.begin(async (tx) => {
    const { lost, back } = await takeChanges(tx, LOST_SECONDS);
    for (const { name, seen_at: seen } of lost) {
      log.error({ machine: name }, 'Machine lost');
      const message = `The machine was last seen at ${seen.toISOString()}. Other machines handle the requests of this machine.`;
      await report('fired', `Machine ${name} is lost`, message);
    }
    for (const name of back) {
      log.info({ machine: name }, 'Machine is back');
      await report('resolved', `Machine ${name} is lost`, 'It is back.');
    }
    const { old, current } = await takeOldRoutes(tx, OLD_ROUTES);
    for (const { name, routes_age_seconds: age } of old) {
      log.error({ machine: name, ageSeconds: age }, 'Routes of a machine are outdated');
      const message = `It serves those of ${age} seconds ago: its mirror cannot read Postgres or the bucket of artifacts, or its disk is full. Check its log.`;
      await report('fired', `Routes of machine ${name} are old`, message);
    }
    for (const name of current) {
      log.info({ machine: name }, 'Routes of a machine are up to date');
      await report('resolved', `Routes of machine ${name} are old`, 'They are current.');
    }

    function report(type: 'fired' | 'resolved', name: string, message: string): Promise<string> {
      const of = { projectId: null, ruleId: null, value: null, channels: 'all' } as const;
      return writeEvent(tx, { ...of, type, name, message });
    }
  });
}

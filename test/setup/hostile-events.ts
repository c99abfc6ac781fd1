// Attacks of a deployment's events on its own site: the victim is what the same deployment answers to requests.
import type { EventKind } from '#core/event.ts';
import { deliver, eventHandlers } from './events.ts';
import type { Attack } from './hostile.ts';

/** How long events come, how many at a time, and what each may use: longer than the victim may wait. */
const ATTACK_MS = 3000;
const AT_A_TIME = 4;
const CPU_MS = '1000';

/** Events of some kinds that do something without end, given again as a broker would; each has to end with the code. */
export function eventsAgainstOwnSite(
  kinds: readonly EventKind[],
  work: string,
  code: string,
  kind: Attack['kind'] = 'cpu',
  environment: Attack['environment'] = {},
  siteWork = '',
): Attack {
  const ownSite = `async function work() { ${work} } export default { fetch() { ${siteWork} return new Response('unhurt'); }, ${eventHandlers} };`;
  return {
    kind,
    worker: { victim: ownSite, attacker: `export default { fetch: () => new Response('alive') };` },
    environment: {
      WORKER_CPU_LIMIT_MS_QUEUE_FREE: CPU_MS,
      WORKER_CPU_LIMIT_MS_TIMER_FREE: CPU_MS,
      WORKER_CPU_LIMIT_MS_CRON_FREE: CPU_MS,
      WORKER_CPU_LIMIT_MS_WORKFLOW_FREE: CPU_MS,
      ...environment,
    },
    async attack({ platform }) {
      const outcomes = new Set<string>();
      const until = performance.now() + ATTACK_MS;
      await Promise.all(
        kinds.flatMap((each) =>
          Array.from({ length: AT_A_TIME / kinds.length }, async () => {
            while (performance.now() < until) outcomes.add(await deliver(platform, 'victim', each, 'on'));
          }),
        ),
      );
      return [...outcomes].sort().join(', ');
    },
    // Those beside it in its isolate are lost with it; a broker gives them again.
    expect: { must: [code], may: ['isolate_replaced', 'isolate_lost'] },
  };
}

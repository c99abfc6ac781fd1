// Messages that take all memory of their isolate, beside requests to the same deployment.
import { eventsAgainstOwnSite } from '#test/setup/hostile-events.ts';

export default eventsAgainstOwnSite(
  ['queue'],
  'for (const all = []; ;) all.push(new Array(10_000).fill({ at: all.length }));',
  'memory_limit_exceeded',
  'memory',
  { WORKER_CPU_LIMIT_MS_QUEUE_FREE: '5000' },
);

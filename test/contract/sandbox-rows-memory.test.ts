import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { PER_PROJECT_MAX, testSandboxRows, TIMES } from './sandbox-rows.ts';

testSandboxRows('memory', async () => {
  let laterMs = 0;
  return {
    rows: createMemoryRows({
      provider: 'local',
      perProjectMax: PER_PROJECT_MAX,
      times: TIMES,
      now: () => Date.now() + laterMs,
    }),
    async age(ms) {
      laterMs = ms;
    },
    close: async () => {},
  };
});

// Limits of machines that announce themselves. Part of core/limits.ts; not imported elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const machineLimits = {
  clockMsMax: [
    'MACHINE_CLOCK_MS_MAX',
    10_000,
    'Largest difference between the clock of a machine and that of Postgres; with more, the machine is refused',
  ],
  edgesMsMax: [null, 30_000, 'That a machine that drains waits for edges that do not notice'],
} satisfies LimitDefinitions;

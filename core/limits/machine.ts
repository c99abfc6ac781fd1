// Limits of machines that announce themselves. Part of core/limits.ts; not imported elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const machineLimits = {
  clockMsMax: [
    'MACHINE_CLOCK_MS_MAX',
    10_000,
    'Largest difference between the clock of a machine and that of Postgres; with more, the machine is refused',
  ],
  edgesMsMax: [null, 30_000, 'That a machine that drains waits for edges that do not notice'],
  tokenMs: [null, 3_600_000, 'After which a token for a new machine expires'],
  tokensMax: [null, 100, 'Tokens for new machines that are valid at the same time'],
} satisfies LimitDefinitions;

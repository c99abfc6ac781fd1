// Limits of machines that announce themselves. Part of core/limits.ts; not imported elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const machineLimits = {
  clockMsMax: [
    'MACHINE_CLOCK_MS_MAX',
    10_000,
    'Largest difference between the clocks of a machine and of Postgres; above this limit, the machine is refused',
  ],
  edgesMsMax: [null, 30_000, 'How long a draining machine waits for edges that have not noticed it'],
  tokenMs: [null, 3_600_000, 'Lifetime of a token for a new machine'],
  tokensMax: [null, 100, 'Tokens for new machines that are valid at the same time'],
} satisfies LimitDefinitions;

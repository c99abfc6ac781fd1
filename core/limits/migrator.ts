// Limits of the migrator. Part of core/limits.ts; not imported elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const migratorLimits = {
  concurrency: ['MIGRATOR_CONCURRENCY', 4, 'Deployments that a migrator migrates at the same time'],
  leaseMs: ['MIGRATOR_LEASE_MS', 60_000, 'Time after which another migrator takes over from an unresponsive one'],
  attemptsMax: ['MIGRATOR_MAX_ATTEMPTS', 3, 'Interrupted attempts after which the migrations have failed'],
  awayMs: [null, 600_000, 'How long to wait for an unresponsive database service'],
} satisfies LimitDefinitions;

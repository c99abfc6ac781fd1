// Limits of the migrator. Part of core/limits.ts; not imported elsewhere.
import type { Bounds } from './bound.ts';

export const migratorBounds = {
  concurrency: ['MIGRATOR_CONCURRENCY', 4, 'Deployments whose migrations one migrator applies at a time'],
  leaseMs: ['MIGRATOR_LEASE_MS', 60_000, 'After how long another migrator takes over from one that went silent'],
  attemptsMax: ['MIGRATOR_MAX_ATTEMPTS', 3, 'Attempts that may be interrupted before the migrations have failed'],
  awayMs: ['MIGRATOR_AWAY_MS', 600_000, 'How long a database service that does not answer is waited for'],
} satisfies Bounds;

// The bounds of the migrator. Part of core/limits.ts; nobody else imports it.
import type { Bounds } from './bound.ts';

export const migratorBounds = {
  concurrency: ['MIGRATOR_CONCURRENCY', 4, 'Deployments whose migrations one migrator applies at a time'],
  leaseMs: ['MIGRATOR_LEASE_MS', 60_000, 'After how long another migrator takes over from one that went silent'],
  attemptsMax: ['MIGRATOR_MAX_ATTEMPTS', 3, 'Attempts that may be interrupted before the migrations have failed'],
  awayMs: [null, 600_000, 'How long a database service that does not answer is waited for'],
} satisfies Bounds;

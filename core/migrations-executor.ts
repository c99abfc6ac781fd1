// Who applies the migrations of deployments (`DB_MIGRATIONS_EXECUTOR`): engines, or the migrator process. Read by the
// supervisor, which starts it, by the API, which asks for it, and by engines, which then leave it to it. Pure.

/** `engine`: where deployments are served. */
export type MigrationsExecutor = 'engine' | 'migrator';

/** @throws {Error} naming the variable and what it takes. */
export function migrationsExecutorFrom(environment: Readonly<Record<string, string | undefined>>): MigrationsExecutor {
  const text = environment['DB_MIGRATIONS_EXECUTOR']?.trim() ?? '';
  if (text === '' || text === 'engine') return 'engine';
  if (text === 'migrator') return 'migrator';
  throw new Error(`DB_MIGRATIONS_EXECUTOR must be migrator, or engine (the default), but is "${text}"`);
}

// The process that applies the migrations of deployments (`DB_MIGRATIONS_EXECUTOR`): engines, or the migrator. Read by
// the supervisor, which starts the migrator, by the API, which calls it, and by engines, which then skip migrations.
// Pure.

/** `engine` means that the engines that serve the deployments apply the migrations. */
export type MigrationsExecutor = 'engine' | 'migrator';

/** @throws {Error} naming the variable and valid values. */
export function migrationsExecutorFrom(environment: Readonly<Record<string, string | undefined>>): MigrationsExecutor {
  const text = environment['DB_MIGRATIONS_EXECUTOR']?.trim() ?? '';
  if (text === '' || text === 'engine') return 'engine';
  if (text === 'migrator') return 'migrator';
  throw new Error(`DB_MIGRATIONS_EXECUTOR must be migrator, or engine (the default), but is "${text}"`);
}

// The table of applied platform migrations: `platform_migrations`, or its name before migration 16,
// `database_migration_audit`. Used by migrate.ts, by backups, and by read-only checks.

export const LEDGER = 'public.platform_migrations';
/**
 * The table's name until migration 16. Every new database starts with it, so that the migrations need not be changed.
 */
export const FORMER_LEDGER = 'public.database_migration_audit';

/** Creates the ledger of a new database. */
export const createLedger = `CREATE TABLE ${FORMER_LEDGER} (
  version integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(), duration_ms integer NOT NULL)`;

/** Runs a statement without parameters. */
type Query = (text: string) => PromiseLike<readonly Record<string, unknown>[]>;

/**
 * The ledger's name; null if the database has none. The former name is a placeholder for older versions (migration
 * `signpost`), unless an older version has restored a backup since. The ledger then contains that version's first
 * migration.
 */
export async function findLedger(query: Query): Promise<string | null> {
  const [found] = await query(`SELECT to_regclass('${LEDGER}') IS NOT NULL AS now,
    to_regclass('${FORMER_LEDGER}') IS NOT NULL AS former`);
  if (found?.['former'] !== true) return found?.['now'] === true ? LEDGER : null;
  if (found['now'] !== true) return FORMER_LEDGER;
  const [row] = await query(`SELECT EXISTS (SELECT FROM ${FORMER_LEDGER} WHERE version = 1) AS filled`);
  return row?.['filled'] === true ? FORMER_LEDGER : LEDGER;
}

/** Number of migrations of a database; null if it has no ledger. */
export async function countMigrations(query: Query): Promise<number | null> {
  const ledger = await findLedger(query);
  if (ledger === null) return null;
  const [row] = await query(`SELECT count(*)::int4 AS count FROM ${ledger}`);
  return Number(row!['count']);
}

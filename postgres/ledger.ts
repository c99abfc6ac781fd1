// Which table says what migrations of the platform a database has: `platform_migrations`, and under its name of before
// migration 16 `database_migration_audit`. Used by migrate.ts, by backups, and by what looks without changing anything.

export const LEDGER = 'public.platform_migrations';
/** The name until migration 16; every database begins with it, so that the migrations stay what they were. */
export const FORMER_LEDGER = 'public.database_migration_audit';

/** Makes the ledger of a database without one. */
export const createLedger = `CREATE TABLE ${FORMER_LEDGER} (
  version integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(), duration_ms integer NOT NULL)`;

/** Runs a statement without parameters. */
type Query = (text: string) => PromiseLike<readonly Record<string, unknown>[]>;

/**
 * The ledger's name; null: the database has none. Under the former one lies a signpost for older versions (migration
 * `signpost`), unless one of them has taken a backup back since: then its own first migration is there.
 */
export async function findLedger(query: Query): Promise<string | null> {
  const [found] = await query(`SELECT to_regclass('${LEDGER}') IS NOT NULL AS now,
    to_regclass('${FORMER_LEDGER}') IS NOT NULL AS former`);
  if (found?.['former'] !== true) return found?.['now'] === true ? LEDGER : null;
  if (found['now'] !== true) return FORMER_LEDGER;
  const [row] = await query(`SELECT EXISTS (SELECT FROM ${FORMER_LEDGER} WHERE version = 1) AS filled`);
  return row?.['filled'] === true ? FORMER_LEDGER : LEDGER;
}

/** How many migrations a database has; null: it has no ledger. */
export async function countMigrations(query: Query): Promise<number | null> {
  const ledger = await findLedger(query);
  if (ledger === null) return null;
  const [row] = await query(`SELECT count(*)::int4 AS count FROM ${ledger}`);
  return Number(row!['count']);
}

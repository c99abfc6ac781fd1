// The accounts of the AI gateway over a database of a test's own, with organizations, projects and deployments.
import { openPostgresAccounts, type PostgresAccounts } from '#gateway/accounts/postgres/accounts.ts';
import type { Limit } from '#gateway/accounts/accounts.ts';
import { encryptionKeys } from '#core/encryption.ts';
import type { Caller } from '#gateway/contract/contract.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

export const KEYS = encryptionKeys('0123456789abcdef0123456789abcdef');

interface Database {
  readonly url: string;
  readonly sql: Postgres;
  accounts(limits: readonly Limit[], now?: () => number): Promise<PostgresAccounts>;
  close(): Promise<void>;
}

/** A database with the organizations, projects and deployments of the suite. */
export async function openDatabase(): Promise<Database> {
  const database = await createTestDatabase();
  const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2 });
  await sql.session((session) =>
    session.script(`
      INSERT INTO control.organization (id, slug, name) VALUES ('acme', 'acme', 'Acme'), ('other', 'other', 'Other');
      INSERT INTO control.project (id, organization_id, name) VALUES ('shop', 'acme', 'shop'), ('blog', 'other', 'blog');
      INSERT INTO control.deployment (id, project_id, organization_id, target, branch, source) VALUES
        ('d000000000001', 'shop', 'acme', 'production', 'main', 'upload'),
        ('d000000000002', 'blog', 'other', 'production', 'main', 'upload')`),
  );
  const opened: PostgresAccounts[] = [];
  return {
    url: database.url,
    sql,
    async accounts(limits, now = Date.now) {
      const accounts = await openAccounts(database.url, limits, now);
      opened.push(accounts);
      return accounts;
    },
    async close() {
      for (const accounts of opened) await accounts.close();
      await sql.close();
      await database.close();
    },
  };
}

export function openAccounts(url: string, limits: readonly Limit[], now = Date.now): Promise<PostgresAccounts> {
  return openPostgresAccounts({
    connection: { url, name: 'test gateway', connectionsMax: 8 },
    now,
    limitsOf: () => limits,
    table: { providers: [], aliases: {}, auto: [] },
    keys: KEYS,
    usageDays: 1,
    log: () => {},
  });
}

export const caller: Caller = {
  kind: 'worker',
  organizationId: 'acme',
  projectId: 'shop',
  deploymentId: 'd000000000001',
  branch: 'main',
  plan: 'free',
  runId: null,
};
export const AT = Date.UTC(2026, 0, 1);
export const tokens = (promptTokens: number, completionTokens = 0) => ({
  promptTokens,
  completionTokens,
  costMicros: 0,
});
export const daily: Limit = { scope: 'organization', of: 'tokens', per: 'day', most: 1000 };
export const rpm: Limit = { scope: 'deployment', of: 'requests', per: 'minute', most: 1_000_000 };

export async function withDatabase(run: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase();
  try {
    await run(database);
  } finally {
    await database.close();
  }
}

/** Everything that was told before now has been heard by whoever reads the socket next. */
export const heard = (sql: Postgres) => sql.all(`SELECT 1`);

// The role that engines connect with. They share memory with hostile code, so theirs reaches the tables of bindings
// (schema `binding`) and nothing else; the migrations grant it that. Called by whoever starts engines, after
// migrate.ts.
import { createHmac } from 'node:crypto';
import { urlAs } from './address.ts';
import type { Postgres } from './connection.ts';
import { sqlState } from './postgres-error.ts';

const engineRole = 'platform_engine';

/**
 * What any role may do in a database and engines need not: keep bytes where no quota looks, in temporary tables and
 * large objects. And what a role may say of its own later sessions, it has not said. Only a superuser may take away
 * functions: without one they stay.
 */
const narrow = `DO $$
BEGIN
  EXECUTE format('ALTER ROLE ${engineRole} IN DATABASE %I RESET ALL', current_database());
  BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_put(oid, bigint, bytea), lowrite(integer, bytea)
      FROM PUBLIC;
  EXCEPTION WHEN insufficient_privilege THEN NULL;
  END;
END $$`;

/** The URL that engines sign in with. Their password follows from the owner's, so there is none to keep. */
export function engineUrlOf(ownerUrl: string): string {
  return urlAs(ownerUrl, engineRole, passwordOf(ownerUrl));
}

function passwordOf(ownerUrl: string): string {
  const secret = new URL(ownerUrl).password || ownerUrl;
  return createHmac('sha256', decodeURIComponent(secret)).update(engineRole).digest('hex');
}

/**
 * Lets engines sign in, and returns their URL.
 *
 * @param ownerUrl URL of the owner, who must be allowed to make roles.
 * @param given `ENGINE_DATABASE_URL`, '' for none: where it names our role, that gets its password; any other role is
 *   the operator's affair.
 * @throws {Error} that says what to do, when he is not.
 */
export async function openEngineRole(sql: Postgres, ownerUrl: string, given = ''): Promise<string> {
  const named = given === '' ? null : URL.parse(given);
  if (given !== '' && (named?.username !== engineRole || named.password === '')) return given;
  const password = named === null ? passwordOf(ownerUrl) : decodeURIComponent(named.password);
  try {
    await sql.transaction(async (transaction) => {
      await transaction.script('SELECT pg_advisory_xact_lock(7528341002)');
      // A password cannot be a parameter of it.
      const [row] = await transaction.all<{ statement: string }>(
        `SELECT format('ALTER ROLE ${engineRole} LOGIN PASSWORD %L CONNECTION LIMIT -1', $1::text) AS statement`,
        password,
      );
      await transaction.script(row!.statement);
      await transaction.script(`ALTER ROLE ${engineRole} RESET ALL`);
      await transaction.script(narrow);
    });
  } catch (error) {
    if (sqlState(error) !== '42501' && sqlState(error) !== '42704') throw error;
    // Whoever made the role has given it the password, too.
    if (given !== '') return given;
    throw new Error(
      `The database user may not change the role ${engineRole}. Give it CREATEROLE, or make the role yourself ` +
        '(its rights come with the migrations) and set ENGINE_DATABASE_URL',
      { cause: error },
    );
  }
  return given === '' ? engineUrlOf(ownerUrl) : given;
}

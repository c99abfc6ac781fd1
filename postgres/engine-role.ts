// The role that engines connect with. They share memory with hostile code, so theirs reaches the tables of bindings
// (schema `binding`) and nothing else; the migrations grant it that. Called by whoever starts engines, after
// migrate.ts.
import type { Postgres } from './connection.ts';
import { loginUrlOf, openLoginRole, type LoginRole } from './login-role.ts';

const ROLE = 'platform_engine';

/**
 * What any role may do in a database and engines need not: keep bytes where no quota looks, in temporary tables and
 * large objects. And what a role may say of its own later sessions, it has not said. Only a superuser may take away
 * functions: without one they stay.
 */
const narrow = `DO $$
BEGIN
  EXECUTE format('ALTER ROLE ${ROLE} IN DATABASE %I RESET ALL', current_database());
  BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_put(oid, bigint, bytea), lowrite(integer, bytea)
      FROM PUBLIC;
  EXCEPTION WHEN insufficient_privilege THEN NULL;
  END;
END $$`;

const engineRole: LoginRole = {
  name: ROLE,
  variable: 'ENGINE_DATABASE_URL',
  confine: (session) => session.script(narrow),
};

/** The URL that engines sign in with. Their password follows from the owner's, so there is none to keep. */
export function engineUrlOf(ownerUrl: string): string {
  return loginUrlOf(ownerUrl, engineRole);
}

/**
 * Lets engines sign in, and returns their URL.
 *
 * @param ownerUrl URL of the owner, who must be allowed to make roles.
 * @param given `ENGINE_DATABASE_URL`, '' for none: where it names our role, that gets its password; any other role is
 *   the operator's affair.
 * @throws {Error} that says what to do, when he is not.
 */
export function openEngineRole(sql: Postgres, ownerUrl: string, given = ''): Promise<string> {
  return openLoginRole(sql, ownerUrl, engineRole, given);
}

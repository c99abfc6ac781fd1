// The role of engines. Engines share memory with hostile code, so their role can only access the tables of bindings
// (schema `binding`); the migrations grant this. Called by the process that starts engines, after migrate.ts.
import type { Postgres } from './connection.ts';
import { loginUrlOf, openLoginRole, type LoginRole } from './login-role.ts';

const ROLE = 'platform_engine';

/**
 * Revokes default rights of roles that engines do not need: storing bytes outside of quotas, in temporary tables and
 * large objects. Also resets settings that the role may have stored for its future sessions. Only a superuser can
 * revoke functions; if the owner is not a superuser, engines keep this right.
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

/** The engines' URL. The password is derived from the owner's, so none is stored. */
export function engineUrlOf(ownerUrl: string): string {
  return loginUrlOf(ownerUrl, engineRole);
}

/**
 * Sets up the engines' role, and returns their URL.
 *
 * @param ownerUrl URL of the owner, who must be allowed to create roles. @param given `ENGINE_DATABASE_URL`, or ''. If
 * the URL names our role, the role gets its password; the operator manages any other role.
 * @throws {Error} with instructions, when the owner lacks the right.
 */
export function openEngineRole(sql: Postgres, ownerUrl: string, given = ''): Promise<string> {
  return openLoginRole(sql, ownerUrl, engineRole, given);
}

// The role of the sandbox service: it can access the table of sandboxes, and the list of deleted projects. Called by
// main.ts, after migrate.ts.
import type { Postgres } from './connection.ts';
import { openLoginRole, type LoginRole } from './login-role.ts';

const sandboxRole: LoginRole = { name: 'platform_sandbox', variable: 'SANDBOX_DATABASE_URL' };

/**
 * Sets up the service's role, and returns its URL.
 *
 * @param given `SANDBOX_DATABASE_URL`, '' for none.
 * @throws {Error} with instructions, when the owner lacks the right.
 */
export function openSandboxRole(sql: Postgres, ownerUrl: string, given = ''): Promise<string> {
  return openLoginRole(sql, ownerUrl, sandboxRole, given);
}

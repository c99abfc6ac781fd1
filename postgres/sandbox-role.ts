// The role that the sandbox service connects with: it reaches the table of sandboxes, and which projects were deleted.
// Called by main.ts, after migrate.ts.
import type { Postgres } from './connection.ts';
import { loginUrlOf, openLoginRole, type LoginRole } from './login-role.ts';

const sandboxRole: LoginRole = { name: 'platform_sandbox', variable: 'SANDBOX_DATABASE_URL' };

/** The URL that the service signs in with. */
export function sandboxUrlOf(ownerUrl: string): string {
  return loginUrlOf(ownerUrl, sandboxRole);
}

/**
 * Lets the service sign in, and returns its URL.
 *
 * @param given `SANDBOX_DATABASE_URL`, '' for none.
 * @throws {Error} that says what to do, when the owner may not.
 */
export function openSandboxRole(sql: Postgres, ownerUrl: string, given = ''): Promise<string> {
  return openLoginRole(sql, ownerUrl, sandboxRole, given);
}

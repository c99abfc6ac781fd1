// Roles that processes other than the owner's sign in with. Their rights come with the migrations; here they get a
// password that follows from the owner's, so that there is none to keep. Used by engine-role.ts and sandbox-role.ts.
import { createHmac } from 'node:crypto';
import { urlAs } from './address.ts';
import type { Postgres, Session } from './connection.ts';
import { sqlState } from './postgres-error.ts';

/** A role of the migrations. */
export interface LoginRole {
  readonly name: string;
  /** What names another address or role: where it names this one, this one gets its password. */
  readonly variable: string;
  /** What else keeps it in its place, in the same transaction. */
  readonly confine?: (session: Session) => Promise<unknown>;
}

/** The URL that it signs in with. */
export function loginUrlOf(ownerUrl: string, { name }: LoginRole): string {
  return urlAs(ownerUrl, name, passwordOf(ownerUrl, name));
}

function passwordOf(ownerUrl: string, name: string): string {
  const secret = new URL(ownerUrl).password || ownerUrl;
  return createHmac('sha256', decodeURIComponent(secret)).update(name).digest('hex');
}

/**
 * Lets a role sign in, and returns its URL.
 *
 * @param ownerUrl URL of the owner, who must be allowed to make roles.
 * @param given what its variable says, '' for nothing. A role that is not ours is the operator's affair.
 * @throws {Error} that says what to do, when he is not.
 */
export async function openLoginRole(sql: Postgres, ownerUrl: string, role: LoginRole, given = ''): Promise<string> {
  const { name, variable } = role;
  const named = given === '' ? null : URL.parse(given);
  if (given !== '' && (named?.username !== name || named.password === '')) return given;
  const password = named === null ? passwordOf(ownerUrl, name) : decodeURIComponent(named.password);
  try {
    await sql.transaction(async (transaction) => {
      await transaction.script('SELECT pg_advisory_xact_lock(7528341002)');
      // A password cannot be a parameter of it.
      const [row] = await transaction.all<{ statement: string }>(
        `SELECT format('ALTER ROLE ${name} LOGIN PASSWORD %L CONNECTION LIMIT -1', $1::text) AS statement`,
        password,
      );
      await transaction.script(row!.statement);
      await transaction.script(`ALTER ROLE ${name} RESET ALL`);
      await role.confine?.(transaction);
    });
  } catch (error) {
    if (sqlState(error) !== '42501' && sqlState(error) !== '42704') throw error;
    // Whoever made the role has given it the password, too.
    if (given !== '') return given;
    throw new Error(
      `The database user may not change the role ${name}. Give it CREATEROLE, or make the role yourself ` +
        `(its rights come with the migrations) and set ${variable}`,
      { cause: error },
    );
  }
  return given === '' ? loginUrlOf(ownerUrl, role) : given;
}

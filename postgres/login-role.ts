// Login roles of processes that do not use the owner's role. The migrations grant their rights. Here they get passwords
// that are derived from the owner's password, so that no password is stored. Used by engine-role.ts and
// sandbox-role.ts.
import { createHmac } from 'node:crypto';
import { urlAs } from './address.ts';
import type { Postgres, Session } from './connection.ts';
import { parseDatabaseUrl, readDatabaseUrl } from '#core/database-url.ts';
import { sqlState } from './postgres-error.ts';

/** A role created by the migrations. */
export interface LoginRole {
  readonly name: string;
  /** Variable with another URL: if it names this role, the role gets its password. */
  readonly variable: string;
  /** Further restricts the role, in the same transaction. */
  readonly confine?: (session: Session) => Promise<unknown>;
}

/** The role's URL. */
export function loginUrlOf(ownerUrl: string, { name }: LoginRole): string {
  return urlAs(ownerUrl, name, passwordOf(ownerUrl, name));
}

function passwordOf(ownerUrl: string, name: string): string {
  const secret = readDatabaseUrl(ownerUrl).url.password || ownerUrl;
  return createHmac('sha256', decodeURIComponent(secret)).update(name).digest('hex');
}

/**
 * Enables the login of a role, and returns its URL.
 *
 * @param ownerUrl URL of the owner, who must be allowed to create roles.
 * @param given value of its variable, '' for none. Another role in the URL is managed by the operator.
 * @throws {Error} with instructions, when the owner lacks the right.
 */
export async function openLoginRole(sql: Postgres, ownerUrl: string, role: LoginRole, given = ''): Promise<string> {
  const { name, variable } = role;
  const named = given === '' ? null : parseDatabaseUrl(given);
  if (given !== '' && (named?.username !== name || named.password === '')) return given;
  const password = named === null ? passwordOf(ownerUrl, name) : decodeURIComponent(named.password);
  try {
    await sql.transaction(async (transaction) => {
      await transaction.script('SELECT pg_advisory_xact_lock(7528341002)');
      // The statement does not accept its password as a parameter.
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
    // The creator of the role has also set its password.
    if (given !== '') return given;
    throw new Error(
      `The database user is not allowed to change the role ${name}. Give it CREATEROLE, or create the role yourself ` +
        `(its rights come with the migrations) and set ${variable}`,
      { cause: error },
    );
  }
  return given === '' ? loginUrlOf(ownerUrl, role) : given;
}

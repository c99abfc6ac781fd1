// Stores the tokens of logins in `config.json` of the user's folder, by API URL, and the current platform. Only the
// user can read the file; it is written atomically.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { userFolder } from '../local/locations.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** A stored login. */
export interface Credentials {
  readonly token: string;
  /** Login of the account. */
  readonly login: string;
  /** When the token expires, in ISO 8601; null if it does not expire. */
  readonly expiresAt: string | null;
}

/** All logins of the user. */
interface Logins {
  /** Origin of the default API. */
  readonly current: string | null;
  /** Credentials by the origin of the API. */
  readonly platforms: Readonly<Record<string, Credentials>>;
}

const NONE: Logins = { current: null, platforms: {} };

/** @example credentialsFile(shell) // '~/.platform/config.json' */
export function credentialsFile(shell: Shell): string {
  return path.join(userFolder(shell), 'config.json');
}

/**
 * Loads the logins; fixes the mode of a file that others can read.
 *
 * @throws {CliError} for an invalid file.
 */
export function readLogins(shell: Shell): Logins {
  const file = credentialsFile(shell);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE;
    throw new CliError(`Cannot read ${file}: ${(error as Error).message}`);
  }
  const logins = parse(text);
  if (logins === null)
    throw new CliError(`${file} has an unsupported format`, {
      advice: 'Delete the file and log in again: `platform login`.',
    });
  return logins;
}

/** Adds a login and makes its platform the default. */
export function saveLogin(shell: Shell, origin: string, credentials: Credentials): void {
  const { platforms } = readLogins(shell);
  write(shell, { current: origin, platforms: { ...platforms, [origin]: credentials } });
}

/** Removes a login. @returns its token. */
export function removeLogin(shell: Shell, origin: string): string | null {
  const { current, platforms } = readLogins(shell);
  const { [origin]: removed, ...others } = platforms;
  if (removed === undefined) return null;
  const [next = null] = Object.keys(others);
  write(shell, { current: current === origin ? next : current, platforms: others });
  return removed.token;
}

function write(shell: Shell, logins: Logins): void {
  const file = credentialsFile(shell);
  if (Object.keys(logins.platforms).length === 0) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify({ version: 1, ...logins }, null, 2)}\n`, { mode: 0o600, flush: true });
  chmodSync(beside, 0o600);
  renameSync(beside, file);
}

function parse(text: string): Logins | null {
  try {
    const { version, current, platforms } = JSON.parse(text) as Logins & { version: unknown };
    const isWhole =
      version === 1 &&
      typeof platforms === 'object' &&
      platforms !== null &&
      Object.values(platforms).every((one) => typeof one?.token === 'string' && typeof one.login === 'string');
    return isWhole ? { current: typeof current === 'string' ? current : null, platforms } : null;
  } catch {
    return null;
  }
}

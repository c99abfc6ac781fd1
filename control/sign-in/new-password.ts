// A new username and password of an account, as three pages take them: its own page, a recovery link, an invitation.
import type { Transaction } from '#postgres/sql.ts';
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from '../access/passwords.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { holdUsername, putPassword, USERNAME } from '../records/passwords.ts';
import { recordSignIn } from './audit.ts';
import { html } from './pages.ts';
import { endRecovery } from './recovery.ts';

/** An accepted username and password. */
interface NewPassword {
  readonly username: string;
  readonly hash: string;
}

export const USERNAME_TAKEN = 'This username is taken.';

/** Whether SIGN_IN includes passwords. */
export function offersPasswords({ signIn }: Pick<Dependencies, 'signIn'>): boolean {
  return signIn.ways.includes('password');
}

/** @throws {ApiError} `not_available` if SIGN_IN does not include passwords. */
export function checkOffered(deps: Pick<Dependencies, 'signIn'>): void {
  if (!offersPasswords(deps))
    throw new ApiError('not_available', { reason: 'Sign-in with a password is not enabled on this platform' });
}

/** Why a username is invalid, as a sentence; null if it is valid. Does not check whether it is taken. */
export function usernameProblem(username: string): string | null {
  return new RegExp(USERNAME).test(username)
    ? null
    : 'A username has letters, digits, dots, hyphens and underscores, and begins with a letter or digit.';
}

/** Checks and hashes the new password. `problem` is a sentence with the reason for a refusal. */
export async function makeNewPassword(
  { signIn: { passwords } }: Pick<Dependencies, 'signIn'>,
  typed: string,
  password: string,
): Promise<NewPassword | { readonly problem: string }> {
  const username = typed.trim();
  const problem = usernameProblem(username) ?? (await passwords.problemOf(password, username));
  return problem === null ? { username, hash: await passwords.hash(password) } : { problem };
}

/** Sets the password, and ends the account's recovery links. @returns false if the username is taken. */
export async function saveNewPassword(tx: Transaction, accountId: string, next: NewPassword): Promise<boolean> {
  if (!(await holdUsername(tx, next.username, accountId))) return false;
  await putPassword(tx, { accountId, ...next });
  await endRecovery(tx, accountId);
  await recordSignIn(tx, accountId, 'account.password_set');
  return true;
}

/** A field for a new username. @param username the username that the account has, or that was typed. */
export function usernameField(username: string) {
  return html`<label for="username">Username</label>
    <input
      id="username"
      name="username"
      value="${username}"
      autocomplete="username"
      autocapitalize="none"
      spellcheck="false"
      required
      maxlength="100"
    />`;
}

/** Fields for a new username and password. @param username the username that the account has, or that was typed. */
export function newPasswordFields(username: string) {
  return html`${usernameField(username)}
    <label for="password">New password, at least ${String(PASSWORD_CHARS_MIN)} characters</label>
    <input
      id="password"
      name="password"
      type="password"
      autocomplete="new-password"
      required
      minlength="${String(PASSWORD_CHARS_MIN)}"
      maxlength="${String(PASSWORD_CHARS_MAX)}"
    />`;
}

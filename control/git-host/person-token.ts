// A person's token for the Git host's API, as stored at sign-in: proves which repositories they may use.
import { isFailure } from '#core/failure.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { gitHostTokenOf } from '../sign-in/git-host-token.ts';

/** @throws {ApiError} `unprocessable` if the account has to sign in at the Git host first, or again. */
export async function personToken(
  deps: Pick<Dependencies, 'sql' | 'keys' | 'signIn'>,
  accountId: string,
): Promise<string> {
  let token: string | null;
  try {
    token = await gitHostTokenOf(deps, accountId);
  } catch (error) {
    if (!isFailure(error, 'sign_in_refused')) throw error;
    throw new ApiError('unprocessable', {
      reason: 'Your sign-in with the Git host has expired: sign in again',
    });
  }
  if (token !== null) return token;
  throw new ApiError('unprocessable', {
    reason: 'Sign in with the Git host first, which lists your repositories',
  });
}

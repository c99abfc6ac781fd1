// Sign-in at the Git host: the redirect to it, and the return from it. Used by the pages of sign-in.
import { isFailure } from '#core/failure.ts';
import { ApiError } from '../http/errors.ts';
import { admit } from './accounts.ts';
import { cookiesOf } from './cookies.ts';
import { authorizeUrl, exchangeCode, personOf } from './git-host-oauth.ts';
import { goTo } from './pages.ts';
import { beginFlow, endFlow, type Purpose } from './provider-flow.ts';
import { openSession, type UiRequest } from './ui-request.ts';

/** URL to which the Git host redirects back. */
export const GIT_HOST_CALLBACK = '/api/auth/callback/git-host';

/** @throws {ApiError} `not_available` without an OAuth application of the Git host. */
export function checkGitHost({ signIn }: Pick<UiRequest, 'signIn'>): void {
  if (signIn.gitHost.oauth === null)
    throw new ApiError('not_available', {
      reason:
        'Sign-in with a Git host is not enabled: create the GitHub App, or set GITHOST_CLIENT_ID and GITHOST_CLIENT_SECRET',
    });
}

/** Redirects to the Git host. @param redirect path to open after the sign-in. */
export async function beginAtGitHost(env: UiRequest, redirect: string, purpose: Purpose = {}): Promise<Response> {
  const { addresses, signIn } = env;
  checkGitHost(env);
  // An account may be linked for its repositories, even if nobody signs in this way.
  if (purpose.linkTo === undefined && !signIn.ways.includes('git-host'))
    throw new ApiError('not_available', { reason: 'Sign-in with the Git host is not enabled on this platform' });
  const { state, cookie } = await beginFlow(env, 'git-host-state', redirect, purpose);
  return goTo(authorizeUrl(signIn.gitHost, `${addresses.ui}${GIT_HOST_CALLBACK}`, state, signIn.secret), [cookie]);
}

/** Signs in the person who returns from the Git host. */
export async function endAtGitHost(env: UiRequest, query: URLSearchParams, headers: Headers): Promise<Response> {
  const { addresses, signIn, log } = env;
  const cookies = cookiesOf(addresses.ui);
  const failed = (error: string): Response => goTo(`/api/auth/sign-in?error=${error}`, [cookies.clear(cookies.flow)]);
  const flow = await endFlow(env, 'git-host-state', query, headers);
  if (flow === null) return failed('expired');
  const { state, redirect, linkTo, invitation } = flow;
  const code = query.get('code');
  if (code === null || query.has('error')) return failed('denied');
  try {
    const token = await exchangeCode(signIn.gitHost, code, `${addresses.ui}${GIT_HOST_CALLBACK}`, state, signIn.secret);
    const person = await personOf(signIn.gitHost, token.accessToken);
    const admission = await admit(env, person, token, { linkTo, invitation });
    if ('refused' in admission) return failed(admission.refused);
    const session = await openSession(env, { ...admission, tokenId: null }, headers);
    return goTo(redirect, [cookies.clear(cookies.flow), session]);
  } catch (error) {
    if (!isFailure(error, 'sign_in_refused')) throw error;
    log.warn({ reason: error.message }, 'Sign-in at the Git host failed');
    return failed('git_host');
  }
}

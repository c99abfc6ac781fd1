// Sign-in at the OpenID Connect provider: the redirect to it, and the return from it. Used by oidc-app.ts.
import { isFailure } from '#core/failure.ts';
import type { OidcProvider } from '../access/oidc/provider.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { cookiesOf } from './cookies.ts';
import { admitFromProvider } from './oidc-accounts.ts';
import { goTo, html, page } from './pages.ts';
import { beginFlow, endFlow, type Purpose } from './provider-flow.ts';
import { offeredProvider, openSession, type UiRequest } from './ui-request.ts';

/** URL to which the provider redirects back. */
export const OIDC_CALLBACK = '/api/auth/callback/oidc';

/** @throws {ApiError} `not_available` if no provider is offered. */
export function checkProvider(deps: Pick<Dependencies, 'signIn'>): OidcProvider {
  const provider = offeredProvider(deps);
  if (provider === null)
    throw new ApiError('not_available', { reason: 'Sign-in with OpenID Connect is not enabled on this platform' });
  return provider;
}

/**
 * Redirects to the provider.
 *
 * @param redirect path to open after the sign-in. @param purpose the purpose of a form. The response is a page that
 * continues, because the form policy allows only known origins, and a provider may redirect to any origin.
 */
export async function beginAtProvider(env: UiRequest, redirect: string, purpose?: Purpose): Promise<Response> {
  const provider = checkProvider(env);
  const { state, cookie } = await beginFlow(env, 'oidc-state', redirect, purpose ?? {});
  let url: string;
  try {
    url = await provider.authorizeUrl({ callback: `${env.addresses.ui}${OIDC_CALLBACK}`, state });
  } catch (error) {
    return failed(env, codeOf(env, error));
  }
  if (purpose === undefined) return goTo(url, [cookie]);
  return page(
    `Continue with ${provider.settings.name}`,
    html`<p><a class="button first" href="${url}">Continue</a></p>`,
    {
      headers: { refresh: `0;url=${url}`, 'set-cookie': cookie },
    },
  );
}

/** Signs in the person who returns from the provider. */
export async function endAtProvider(env: UiRequest, query: URLSearchParams, headers: Headers): Promise<Response> {
  const provider = checkProvider(env);
  const flow = await endFlow(env, 'oidc-state', query, headers);
  if (flow === null) return failed(env, 'expired');
  try {
    const callback = `${env.addresses.ui}${OIDC_CALLBACK}`;
    const person = await provider.personOf({ callback, state: flow.state }, query);
    const admission = await admitFromProvider(env, person, flow);
    if ('refused' in admission) return failed(env, admission.refused);
    const session = await openSession(env, { ...admission, tokenId: null }, headers);
    const cookies = cookiesOf(env.addresses.ui);
    return goTo(flow.redirect, [cookies.clear(cookies.flow), session]);
  } catch (error) {
    return failed(env, codeOf(env, error));
  }
}

/** The sign-in page with a message. */
function failed({ addresses }: UiRequest, code: string): Response {
  const cookies = cookiesOf(addresses.ui);
  return goTo(`/api/auth/sign-in?error=${code}`, [cookies.clear(cookies.flow)]);
}

/** The code of a refusal's message. */
function codeOf({ log }: UiRequest, error: unknown): string {
  if (!isFailure(error, 'oidc_refused')) throw error;
  log.warn({ reason: error.message }, 'Sign-in with OpenID Connect failed');
  return `oidc_${error.why}`;
}

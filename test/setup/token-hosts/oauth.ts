// The OAuth applications of the token hosts of tests: authorization codes with PKCE, tokens that expire, refresh tokens
// that work once. Written from the hosts' public descriptions.
import { createHash, randomBytes } from 'node:crypto';
import type { OAuthDialect, OAuthOfHost, TokenHostState } from './state.ts';

const code = (): string => randomBytes(16).toString('hex');

/** An application that is registered on a host. */
export function newOAuth(): OAuthOfHost {
  return {
    clientId: code(),
    clientSecret: code(),
    redirectUrl: null,
    signedIn: 'ada',
    lifetimeSeconds: 7200,
    codes: new Map(),
    grants: [],
    requests: [],
  };
}

export const oauthDialects: Readonly<Record<'gitlab' | 'gitea' | 'bitbucket', OAuthDialect>> = {
  gitlab: {
    authorize: '/oauth/authorize',
    token: '/oauth/token',
    revoke: '/oauth/revoke',
    isBasic: false,
    hasPkce: true,
  },
  gitea: {
    authorize: '/login/oauth/authorize',
    token: '/login/oauth/access_token',
    revoke: null,
    isBasic: false,
    hasPkce: true,
  },
  bitbucket: {
    authorize: '/site/oauth2/authorize',
    token: '/site/oauth2/access_token',
    revoke: null,
    isBasic: true,
    hasPkce: false,
  },
};

/** Answers a request about the application; null: another request. @returns status, body, and where the browser goes */
export function answerOAuth(
  state: TokenHostState,
  dialect: OAuthDialect,
  scopes: readonly string[],
  { method, url, authorization, body }: { method: string; url: URL; authorization: string; body: string },
): { status: number; body: unknown; location?: string } | null {
  const { oauth } = state;
  if (url.pathname === dialect.authorize) {
    const of = (name: string): string => url.searchParams.get(name) ?? '';
    if (of('client_id') !== oauth.clientId) return { status: 401, body: 'no such application' };
    if (oauth.redirectUrl !== null && of('redirect_uri') !== oauth.redirectUrl)
      return { status: 400, body: 'the redirect URL is not registered' };
    const target = new URL(of('redirect_uri'));
    target.searchParams.set('state', of('state'));
    if (oauth.signedIn === null) target.searchParams.set('error', 'access_denied');
    else {
      const made = code();
      const challenge = dialect.hasPkce ? of('code_challenge') : '';
      oauth.codes.set(made, { login: oauth.signedIn, challenge, redirectUrl: of('redirect_uri') });
      target.searchParams.set('code', made);
    }
    return { status: 302, body: '', location: target.href };
  }
  if (method !== 'POST' || (url.pathname !== dialect.token && url.pathname !== dialect.revoke)) return null;
  const form = new URLSearchParams(body);
  oauth.requests.push(`${url.pathname} ${form.get('grant_type') ?? ''}`.trim());
  const [id, secret] = dialect.isBasic
    ? Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
        .toString()
        .split(':')
    : [form.get('client_id'), form.get('client_secret')];
  if (id !== oauth.clientId || secret !== oauth.clientSecret)
    return { status: 401, body: { error: 'invalid_client', error_description: `unknown secret ${secret}` } };
  if (url.pathname === dialect.revoke) {
    const given = form.get('token');
    const grant = oauth.grants.find(({ refresh, access }) => refresh === given || access === given);
    if (grant !== undefined) endGrant(state, grant);
    return { status: 200, body: {} };
  }
  const refused = { status: 400, body: { error: 'invalid_grant', error_description: `refused ${body}` } };
  if (form.get('grant_type') === 'refresh_token') {
    const used = oauth.grants.find(({ refresh, earlier }) =>
      [refresh, ...earlier].includes(form.get('refresh_token')!),
    );
    if (used === undefined || used.isRevoked) return refused;
    if (used.refresh !== form.get('refresh_token')) {
      // It was used before: somebody has stolen it.
      endGrant(state, used);
      return refused;
    }
    used.earlier.push(used.refresh);
    state.tokens.delete(used.access);
    used.refresh = code();
    used.access = issue(state, used.login, scopes);
    return { status: 200, body: tokens(oauth, used) };
  }
  const known = oauth.codes.get(form.get('code') ?? '');
  oauth.codes.delete(form.get('code') ?? '');
  if (known === undefined || known.redirectUrl !== form.get('redirect_uri')) return refused;
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (dialect.hasPkce && challenge !== known.challenge) return refused;
  const access = issue(state, known.login, scopes);
  const grant = { login: known.login, access, refresh: code(), earlier: [], isRevoked: false };
  oauth.grants.push(grant);
  return { status: 200, body: tokens(oauth, grant) };
}

/** As if the person had revoked it on the host. */
export function endGrant(state: TokenHostState, grant: OAuthOfHost['grants'][number]): void {
  grant.isRevoked = true;
  state.tokens.delete(grant.access);
}

function issue(state: TokenHostState, login: string, scopes: readonly string[]): string {
  const token = `oat-${code()}`;
  state.tokens.set(token, { login, scopes, isExpired: false });
  return token;
}

function tokens({ lifetimeSeconds }: OAuthOfHost, { access, refresh }: OAuthOfHost['grants'][number]) {
  return { access_token: access, token_type: 'bearer', expires_in: lifetimeSeconds, refresh_token: refresh };
}

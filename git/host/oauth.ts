// OAuth applications of Git hosts: the page on which a user grants access, and the exchange of codes and refresh
// tokens. Errors contain no codes, tokens or secrets.
import { createHash } from 'node:crypto';
import { Failure, isFailure } from '#core/failure.ts';
import type { HostOAuth } from './access.ts';
import { answerFields, type Answer } from './answers.ts';
import { askRest } from './rest.ts';
import { hostTitle, isPrivateHost, tokenHostKinds, type TokenHost } from './token-hosts.ts';

/** The platform's OAuth application on a host. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Access that a user granted. */
export interface Grant {
  readonly accessToken: string;
  /** Null if the access token does not expire, or cannot be renewed. */
  readonly refreshToken: string | null;
  /** Milliseconds since 1970; null means unknown, or never. */
  readonly expiresAt: number | null;
}

const TOKEN_CHARS_MAX = 8000;

type Host = Pick<TokenHost, 'kind' | 'name' | 'url'>;
interface Deps {
  readonly privateHosts: readonly string[];
}

/** The page of the host on which a user grants access. @param verifier of PKCE. */
export function grantUrl(
  host: Host,
  {
    clientId,
    redirectUrl,
    state,
    verifier,
  }: Readonly<Record<'clientId' | 'redirectUrl' | 'state' | 'verifier', string>>,
): string {
  const oauth = oauthOf(host);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUrl,
    state,
    ...(oauth.scopes !== '' && { scope: oauth.scopes }),
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return `${oauth.baseUrl(host.url)}${oauth.authorizePath}?${query}`;
}

/** Exchanges the code of {@link grantUrl}. @throws {Failure} `git_host` */
export function exchangeCode(
  deps: Deps,
  host: Host,
  client: OAuthClient,
  { code, redirectUrl, verifier }: Readonly<Record<'code' | 'redirectUrl' | 'verifier', string>>,
): Promise<Grant> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUrl, code_verifier: verifier };
  return askForGrant(deps, host, client, form, null);
}

/** Renews an access token. A refresh token works once. @throws {Failure} `git_host`, status 401 if it is refused. */
export function refreshGrant(deps: Deps, host: Host, client: OAuthClient, refreshToken: string): Promise<Grant> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  return askForGrant(deps, host, client, form, refreshToken);
}

/** Revokes a grant, where the host can. @throws {Failure} `git_host` */
export async function revokeGrant(deps: Deps, host: Host, client: OAuthClient, grant: Grant): Promise<void> {
  const { revokePath } = oauthOf(host);
  if (revokePath === null) return;
  // Revoking either of the two tokens also revokes the other.
  await send(deps, host, client, revokePath, { token: grant.refreshToken ?? grant.accessToken });
}

async function askForGrant(
  deps: Deps,
  host: Host,
  client: OAuthClient,
  form: Readonly<Record<string, string>>,
  refreshToken: string | null,
): Promise<Grant> {
  const asked = Date.now();
  const answer = answerFields(await send(deps, host, client, oauthOf(host).tokenPath, form));
  const accessToken = tokenIn(answer, 'access_token');
  if (accessToken === null)
    throw new Failure('git_host', `${hostTitle(host)} issued no access token`, { reason: 'refused', status: 200 });
  const seconds = answer['expires_in'];
  const next = tokenIn(answer, 'refresh_token') ?? refreshToken;
  return {
    accessToken,
    refreshToken: next,
    expiresAt: typeof seconds === 'number' && seconds > 0 ? asked + seconds * 1000 : null,
  };
}

function tokenIn(answer: Answer, name: string): string | null {
  const value = answer[name];
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && value.length <= TOKEN_CHARS_MAX ? value : null;
}

async function send(
  { privateHosts }: Deps,
  host: Host,
  { clientId, clientSecret }: OAuthClient,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<unknown> {
  const oauth = oauthOf(host);
  const isBasic = oauth.clientAuth === 'basic';
  const client = { client_id: clientId, client_secret: clientSecret };
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  try {
    return await askRest(
      { apiUrl: oauth.baseUrl(host.url), who: hostTitle(host), isPrivate: isPrivateHost(host.url, privateHosts) },
      { method: 'POST', path, body: new URLSearchParams(isBasic ? form : { ...form, ...client }) },
      { accept: 'application/json', ...(isBasic && { authorization: `Basic ${basic}` }) },
    );
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    const { reason, status } = error;
    // The host's message may repeat the sent credentials.
    if (reason === 'unreachable') {
      const said = status === 0 ? error.message : `${hostTitle(host)} answered ${status} to the request of a token`;
      throw new Failure('git_host', said, { reason, status });
    }
    if (reason === 'limited') throw error;
    throw new Failure(
      'git_host',
      `${hostTitle(host)} refused access: the grant was revoked or has expired, or the secret of the OAuth application is wrong. Connect the account again`,
      { reason, status: 401 },
    );
  }
}

function oauthOf({ kind }: Host): HostOAuth {
  return tokenHostKinds[kind].oauth;
}

// The client of an OpenID Connect provider: authorization code with PKCE (S256), state, nonce and, where the provider
// supports it, `iss` (RFC 9207). ID tokens must be signed by one of the provider's current keys. Calls of the provider
// are bounded in time and bytes, and follow no redirects. Created once by open.ts.
import { createHash, createHmac } from 'node:crypto';
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import { Failure, isFailure } from '#core/failure.ts';
import { personFrom, subjectOf } from './person.ts';
import type { OidcProvider, OidcSettings } from './provider.ts';

const DISCOVERY_MS = 3_600_000;
const WAIT_MS = 10_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
/** How far the clocks of the platform and the provider may differ. */
const CLOCK_SECONDS = 60;

type Library = typeof import('openid-client');

/**
 * The client of a provider. Calls the provider only when someone signs in.
 *
 * @param secret `AUTH_SECRET`. @param now the clock, for tests. `waitMs` is also for tests.
 */
export function createOidcProvider(
  settings: OidcSettings,
  secret: string,
  { now = Date.now, waitMs = WAIT_MS }: { readonly now?: () => number; readonly waitMs?: number } = {},
): OidcProvider {
  let discovered: { readonly server: ServerMetadata; readonly at: number } | null = null;
  let pending: Promise<ServerMetadata> | null = null;
  const fetchBounded = boundedFetch(waitMs);

  /** Reads the provider's metadata. A failure is not cached: the next sign-in tries again. */
  async function discover(library: Library): Promise<ServerMetadata> {
    const { issuer, clientId } = settings;
    const found = await library.discovery(new URL(issuer), clientId, undefined, library.None(), {
      [library.customFetch]: fetchBounded,
      execute: isPlain(issuer) ? [library.allowInsecureRequests] : [],
    });
    const server = found.serverMetadata();
    discovered = { server, at: now() };
    return server;
  }

  /** Each sign-in gets a new configuration, which fetches the provider's keys again, because they may have changed. */
  async function configure(library: Library): Promise<Configuration> {
    const isFresh = discovered !== null && now() - discovered.at < DISCOVERY_MS;
    if (!isFresh) pending ??= discover(library).finally(() => void (pending = null));
    const server = isFresh ? discovered!.server : await pending!;
    const { clientId, clientSecret, issuer } = settings;
    const methods = server.token_endpoint_auth_methods_supported;
    // Providers that list no methods support `client_secret_basic`.
    const isPost = methods?.includes('client_secret_basic') === false;
    const proof = isPost ? library.ClientSecretPost(clientSecret) : library.ClientSecretBasic(clientSecret);
    const metadata = { [library.clockTolerance]: CLOCK_SECONDS };
    const configuration = new library.Configuration(server, clientId, metadata, proof);
    configuration[library.customFetch] = fetchBounded;
    if (isPlain(issuer)) library.allowInsecureRequests(configuration);
    library.enableNonRepudiationChecks(configuration);
    return configuration;
  }

  /** A value that is derived from a state and a secret, so that it cannot be forged and need not be stored. */
  const derived = (purpose: string, state: string): string =>
    createHmac('sha256', secret).update(`oidc-${purpose}:${state}`).digest('base64url');

  async function guarded<Value>(work: (library: Library) => Promise<Value>): Promise<Value> {
    // The library is loaded on demand, because most installations have no provider.
    const library = await import('openid-client');
    try {
      return await work(library);
    } catch (error) {
      const refusal = refusalOf(error, library);
      // The next sign-in reads the metadata again, because the provider may have changed its endpoints.
      if (refusal.why === 'away' || refusal.why === 'invalid') discovered = null;
      throw refusal;
    }
  }

  return {
    settings,
    authorizeUrl: ({ callback, state }) =>
      guarded(async (library) => {
        const url = library.buildAuthorizationUrl(await configure(library), {
          redirect_uri: callback,
          scope: settings.scopes,
          state,
          nonce: derived('nonce', state),
          code_challenge: createHash('sha256').update(derived('pkce', state)).digest('base64url'),
          code_challenge_method: 'S256',
        });
        return url.href;
      }),
    personOf: ({ callback, state }, query) =>
      guarded(async (library) => {
        const configuration = await configure(library);
        const tokens = await library.authorizationCodeGrant(configuration, new URL(`${callback}?${query}`), {
          pkceCodeVerifier: derived('pkce', state),
          expectedState: state,
          expectedNonce: derived('nonce', state),
          idTokenExpected: true,
        });
        const claims = tokens.claims()!;
        const subject = subjectOf(claims);
        if (claims.iat > now() / 1000 + CLOCK_SECONDS)
          throw new Failure('oidc_refused', 'The ID token was issued in the future', { why: 'clock' });
        const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
        const userinfo = hasUserinfo ? await library.fetchUserInfo(configuration, tokens.access_token, subject) : {};
        return personFrom(claims, userinfo, settings.groupsClaim);
      }),
  };
}

function isPlain(issuer: string): boolean {
  return issuer.startsWith('http:');
}

/** Reads a response to its end, within the size limit. Redirects are not followed: the library refuses their status. */
function boundedFetch(waitMs: number): CustomFetch {
  const away = (message: string): Failure<'oidc_refused'> => new Failure('oidc_refused', message, { why: 'away' });
  return async (url, { method, headers, body }) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let response: Response;
    try {
      response = await fetch(url, {
        method,
        headers,
        body: (body ?? null) as NonNullable<RequestInit['body']> | null,
        redirect: 'manual',
        signal: AbortSignal.timeout(waitMs),
      });
      for await (const chunk of response.body ?? []) {
        bytes += chunk.byteLength;
        if (bytes > ANSWER_BYTES_MAX) break;
        chunks.push(chunk);
      }
    } catch (error) {
      // The error's text could contain data that was sent.
      throw away(
        (error as Error).name === 'TimeoutError' ? 'The provider is too slow' : 'The provider is not reachable',
      );
    }
    if (bytes > ANSWER_BYTES_MAX)
      throw new Failure('oidc_refused', `The provider sent more than ${ANSWER_BYTES_MAX} bytes`, { why: 'invalid' });
    if (response.status >= 500) throw away(`The provider answered ${response.status}`);
    const { status, headers: answered } = response;
    return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: answered });
  };
}

/** Why a sign-in failed. The reason contains no sent or received data except an error code. */
function refusalOf(error: unknown, library: Library): Failure<'oidc_refused'> {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (isFailure(at, 'oidc_refused')) return at;
  const word = (code: string): string => (/^\w{1,60}$/.test(code) ? code : 'an unknown code');
  if (error instanceof library.AuthorizationResponseError)
    return new Failure('oidc_refused', `The provider refused: ${word(error.error)}`, { why: 'denied' });
  if (error instanceof library.ResponseBodyError)
    return new Failure('oidc_refused', `The provider issued no token: ${word(error.error)}`, { why: 'invalid' });
  const { code, cause, message } = error as Error & { readonly code?: string };
  // The library names the compared values in the cause, with fixed texts.
  const reason = cause instanceof Error ? cause.message : message;
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return new Failure('oidc_refused', reason, { why: 'clock' });
  const why = reason.includes('"sub" (subject) claim missing') ? 'subject' : 'invalid';
  return new Failure('oidc_refused', reason, { why });
}

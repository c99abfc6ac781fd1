// A real OpenID Connect provider (oidc-provider) on a free port. It signs everybody in as the chosen person at once,
// without a form; a browser that has a session there stays that person.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type JWK } from 'oidc-provider';
import type { OidcSettings } from '#control/access/oidc/provider.ts';

type Claims = Record<string, unknown>;

/** A provider of tests. */
export interface TestOidcProvider {
  /** Settings under which the platform knows it; tests change them. */
  readonly settings: { -readonly [Name in keyof OidcSettings]: OidcSettings[Name] };
  /** Claims of people, by subject. */
  readonly people: Map<string, Claims>;
  /** Who signs in next, by subject; null: the sign-in is refused. */
  signedIn: string | null;
  close(): Promise<void>;
}

/** @param callback where the platform takes people back. */
export async function startOidcProvider(callback: string): Promise<TestOidcProvider> {
  let answer: ReturnType<Provider['callback']> = () => Promise.resolve();
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
    const login = opened.signedIn === null ? undefined : { accountId: opened.signedIn };
    const result = login === undefined ? { error: 'access_denied' } : { login };
    provider.interactionFinished(request, response, result).catch((error: unknown) => response.end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientId = 'platform';
  const clientSecret = 'a secret: of the/platform+';
  const people = new Map<string, Claims>();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [callback],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...(privateKey.export({ format: 'jwk' }) as JWK), kid: 'first', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['cookies of the provider'] },
    pkce: { required: () => true },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'preferred_username'],
      groups: ['groups'],
    },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }),
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ clientId, accountId: oidc.session!.accountId! });
      grant.addOIDCScope('openid email profile groups');
      await grant.save();
      return grant;
    },
  });
  answer = provider.callback();
  const opened: TestOidcProvider = {
    settings: {
      issuer: `${issuer}/`,
      clientId,
      clientSecret,
      name: 'Acme SSO',
      scopes: 'openid email profile groups',
      domains: [],
      groupsClaim: 'groups',
      groups: [],
    },
    people,
    signedIn: null,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return opened;
}

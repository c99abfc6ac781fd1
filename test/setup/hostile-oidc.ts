// An OpenID Connect provider that answers as a test wants: forged, late, huge, slow, or well. Not a real one: that is
// oidc-provider.ts.
import { createHash, createSign, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { OidcSettings } from '#control/access/oidc/provider.ts';

type Json = Record<string, unknown>;

/** A key of the provider. */
interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** What a test changes. */
interface Behaviour {
  /** Changes of the ID token's claims. */
  claims: Json;
  /** Changes of its header, such as another `alg`. */
  header: Json;
  /** Key that signs; null: no signature. */
  signer: SigningKey | null;
  /** Keys that the provider publishes. */
  readonly keys: SigningKey[];
  /** Changes of the redirect back. */
  back: Record<string, string | null>;
  /** Takes over a path, such as `/token`. */
  readonly answers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  /** Changes of the metadata. */
  metadata: Json;
}

/** A provider of hostile tests. */
export interface HostileOidc {
  readonly settings: OidcSettings;
  readonly state: Behaviour;
  /** Requests, as `GET /keys`. */
  readonly requests: string[];
  /** Queries of the authorization endpoint. */
  readonly asked: URLSearchParams[];
  newKey(kid: string): SigningKey;
  /** Behaves well again. */
  reset(): void;
  close(): Promise<void>;
}

export async function startHostileOidc(): Promise<HostileOidc> {
  const codes = new Map<string, { readonly nonce: string | null; readonly challenge: string | null }>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const newKey = (kid: string): SigningKey => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
  const first = newKey('first');
  const good = (): Behaviour => {
    return { claims: {}, header: {}, signer: first, keys: [first], back: {}, answers: new Map(), metadata: {} };
  };
  const state = good();
  const requests: string[] = [];
  const asked: URLSearchParams[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer);
    requests.push(`${request.method} ${pathname}`);
    const other = state.answers.get(pathname);
    if (other !== undefined) return other(request, response);
    const json = (value: Json, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          authorization_response_iss_parameter_supported: true,
          // A careless provider.
          id_token_signing_alg_values_supported: ['ES256', 'RS256', 'HS256', 'none'],
          ...state.metadata,
        });
      case '/authorize': {
        asked.push(searchParams);
        const code = randomBytes(16).toString('hex');
        codes.set(code, { nonce: searchParams.get('nonce'), challenge: searchParams.get('code_challenge') });
        const to = new URL(searchParams.get('redirect_uri')!);
        const back = { code, state: searchParams.get('state'), iss: issuer, ...state.back };
        for (const [name, value] of Object.entries(back)) if (value !== null) to.searchParams.set(name, value);
        response.writeHead(303, { location: to.href }).end();
        return;
      }
      case '/token': {
        const form = new URLSearchParams(await text(request));
        const code = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const verifier = form.get('code_verifier') ?? '';
        const isProven = createHash('sha256').update(verifier).digest('base64url') === code?.challenge;
        if (code === undefined || !isProven) return json({ error: 'invalid_grant' }, 400);
        return json({ access_token: 'at', token_type: 'Bearer', id_token: idToken(code.nonce) });
      }
      case '/keys':
        return json({
          keys: state.keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' })),
        });
      default:
        return json({}, 404);
    }
  }

  function idToken(nonce: string | null): string {
    const seconds = Math.floor(Date.now() / 1000);
    const { clientId: aud } = settings;
    const claims = { iss: issuer, sub: 'eve', aud, iat: seconds, exp: seconds + 300, nonce, ...state.claims };
    const header = { alg: 'ES256', kid: state.signer?.kid, ...state.header };
    const encode = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encode(header)}.${encode(claims)}`;
    if (state.signer === null) return `${signed}.`;
    const key = { key: state.signer.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${signed}.${createSign('SHA256').update(signed).sign(key).toString('base64url')}`;
  }

  const settings: OidcSettings = {
    issuer: `${issuer}/`,
    clientId: 'platform',
    clientSecret: 'hunter2hunter2',
    name: 'Eve',
    scopes: 'openid',
    domains: [],
    groupsClaim: 'groups',
    groups: [],
  };
  return {
    settings,
    state,
    requests,
    asked,
    newKey,
    reset: () => void Object.assign(state, good()),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

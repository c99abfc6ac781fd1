// The middleware `auth`: the binding, bearer tokens with a secret, and with a key set.
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { auth, platform } from '#packages/worker/index.ts';
import { call, errorsOf } from './call.ts';

function jwt(header: object, claims: object, signer: (text: string) => Buffer): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${signer(text).toString('base64url')}`;
}

test('auth: the binding, required or not, with exceptions', async () => {
  const env = {
    PLATFORM_AUTH: {
      getSession: async (request: Request) =>
        request.headers.get('cookie') === 'session=good'
          ? { user: { id: 'u1', email: 'ada@example.org' }, token: 't' }
          : null,
    },
  };
  const app = platform()
    .use(auth({ exclude: ['/open', '/public/*'] }))
    .get('/me', (ctx) => ({ id: ctx.state.user.id, token: ctx.state.session.token }))
    .get('/open', (ctx) => ({ user: ctx.state.user as unknown }))
    .get('/public/x', () => 'x')
    .build();
  const signedIn = { env, headers: { cookie: 'session=good' } };
  assert.deepEqual((await call(app, 'GET /me', signedIn)).json, { id: 'u1', token: 't' });
  const nobody = await call(app, 'GET /me', { env });
  assert.deepEqual(
    [nobody.status, nobody.json, nobody.headers.get('www-authenticate')],
    [401, { error: 'Unauthorized' }, 'Bearer'],
  );
  assert.deepEqual((await call(app, 'GET /open', { env })).json, { user: null });
  assert.equal((await call(app, 'GET /public/x', { env })).status, 200);
  assert.equal((await call(app, 'GET /publicx', { env })).status, 401);
  const lines = await errorsOf(async () => assert.equal((await call(app, 'GET /me')).status, 500));
  assert.match(lines.join('\n'), /PLATFORM_AUTH is not an auth binding/);
  const optional = platform()
    .use(auth({ required: false }))
    .get('/', (ctx) => ({ who: ctx.state.user?.id ?? 'nobody' }))
    .build();
  assert.deepEqual((await call(optional, 'GET /', { env })).json, { who: 'nobody' });
});

test('auth: bearer tokens with a secret; every forgery is 401', async () => {
  const { createHmac } = await import('node:crypto');
  const secret = 'a secret of at least 32 bytes, really';
  const hs = (key: string) => (text: string) => createHmac('sha256', key).update(text).digest();
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: 'u1', iss: 'me', aud: ['api'], exp: now + 60 };
  const app = platform()
    .use(auth({ bearer: { secret: (env: { KEY: string }) => env.KEY, issuer: 'me', audience: 'api' } as never }))
    .get('/', (ctx) => ({ id: ctx.state.user.id, sub: ctx.state.session.claims?.sub }))
    .build();
  const ask = async (token: string) =>
    (await call(app, 'GET /', { env: { KEY: secret }, headers: { authorization: `Bearer ${token}` } })).status;
  const good = jwt({ alg: 'HS256' }, claims, hs(secret));
  assert.deepEqual(
    (await call(app, 'GET /', { env: { KEY: secret }, headers: { authorization: `Bearer ${good}` } })).json,
    {
      id: 'u1',
      sub: 'u1',
    },
  );
  const forged = {
    'another key': jwt({ alg: 'HS256' }, claims, hs('another secret of 32 bytes, really!')),
    'alg none': jwt({ alg: 'none' }, claims, () => Buffer.alloc(0)),
    'no signature': `${good.split('.').slice(0, 2).join('.')}.`,
    'another alg': jwt({ alg: 'HS512' }, claims, hs(secret)),
    expired: jwt({ alg: 'HS256' }, { ...claims, exp: now - 60 }, hs(secret)),
    'not yet': jwt({ alg: 'HS256' }, { ...claims, nbf: now + 600 }, hs(secret)),
    'exp is a text': jwt({ alg: 'HS256' }, { ...claims, exp: '9999999999' }, hs(secret)),
    'another issuer': jwt({ alg: 'HS256' }, { ...claims, iss: 'you' }, hs(secret)),
    'another audience': jwt({ alg: 'HS256' }, { ...claims, aud: 'web' }, hs(secret)),
    critical: jwt({ alg: 'HS256', crit: ['x'] }, claims, hs(secret)),
    changed: good.replace(
      /\.[^.]+\./,
      `.${Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')}.`,
    ),
    nonsense: 'a.b.c',
    long: `${'a'.repeat(20_000)}.b.c`,
  };
  for (const [name, token] of Object.entries(forged)) assert.equal(await ask(token), 401, name);
  assert.throws(() => auth({ bearer: {} }), /either a secret or a jwks/);
});

test('auth: bearer tokens with a key set, which is asked again for a key it did not have', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ed = generateKeyPairSync('ed25519');
  let asked = 0;
  const keys = [
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', alg: 'RS256', use: 'sig' },
    { ...ec.publicKey.export({ format: 'jwk' }), kid: 'e' },
    { ...ed.publicKey.export({ format: 'jwk' }), kid: 'd' },
  ];
  const server = createServer((_request, response) => {
    asked++;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  const app = platform()
    .use(auth({ bearer: { jwks } }))
    .get('/', (ctx) => ctx.state.user.id)
    .build();
  const claims = { sub: 'u1' };
  const tokens = {
    RS256: jwt({ alg: 'RS256', kid: 'r' }, claims, (text) => sign('sha256', Buffer.from(text), rsa.privateKey)),
    ES256: jwt({ alg: 'ES256', kid: 'e' }, claims, (text) =>
      sign('sha256', Buffer.from(text), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
    ),
    EdDSA: jwt({ alg: 'EdDSA', kid: 'd' }, claims, (text) => sign(null, Buffer.from(text), ed.privateKey)),
  };
  for (const [name, token] of Object.entries(tokens))
    assert.equal((await call(app, 'GET /', { headers: { authorization: `Bearer ${token}` } })).text, 'u1', name);
  const { createHmac } = await import('node:crypto');
  const confused = jwt({ alg: 'HS256', kid: 'r' }, claims, (text) =>
    createHmac('sha256', rsa.publicKey.export({ format: 'pem', type: 'spki' }))
      .update(text)
      .digest(),
  );
  const unknown = jwt({ alg: 'RS256', kid: 'x' }, claims, (text) => sign('sha256', Buffer.from(text), rsa.privateKey));
  for (const token of [confused, unknown])
    assert.equal((await call(app, 'GET /', { headers: { authorization: `Bearer ${token}` } })).status, 401);
  assert.equal(asked, 1);
  server.close();
});

test('auth: where the key set cannot be had the answer is 500, and a token is not taken for a forgery', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const token = jwt({ alg: 'ES256', kid: 'e' }, { sub: 'u1' }, (text) =>
    sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  );
  const answers: [number, Record<string, string>, string][] = [
    [503, {}, 'busy'],
    [200, {}, 'no JSON'],
    [200, {}, '{"keys":7}'],
    [302, { location: 'http://127.0.0.1:1/' }, ''],
    [200, {}, JSON.stringify({ keys: [], more: 'x'.repeat(300_000) })],
  ];
  for (const [status, headers, body] of answers) {
    const server = createServer((_request, response) => void response.writeHead(status, headers).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
    const app = platform()
      .use(auth({ bearer: { jwks } }))
      .get('/', (ctx) => ctx.state.user.id)
      .build();
    const lines = await errorsOf(async () => {
      const answer = await call(app, 'GET /', { headers: { authorization: `Bearer ${token}` } });
      assert.equal(answer.status, 500, `${status} ${body.slice(0, 20)}`);
    });
    assert.equal(lines.length, 1);
    server.close();
  }
});

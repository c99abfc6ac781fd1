// What builds may reach, by the operator's settings.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openListener } from '#builder/steps/outbound/listener.ts';
import { outboundRules, type OutboundRules } from '#builder/steps/outbound/reach.ts';
import { withOutbound } from '#builder/steps/outbound/inside.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';

const policy = { loopback: false, private: false };

function outbound(environment: Readonly<Record<string, string>>, npm = '', privateHosts: string[] = []): OutboundRules {
  return outboundRules({ policy, lookup: guardedLookup(policy), privateHosts }, environment, npm);
}

test('registries and Git hosts that are set are reached whatever their address, on their port alone', () => {
  const npm =
    '@corp:registry="https://npm.corp/path/"\n; registry=https://no.example/\nregistry = http://[::1]:4873/\n';
  const { isKnown, loopback } = outbound(
    {
      npm_config_registry: 'http://localhost:4874/',
      COREPACK_NPM_REGISTRY: 'https://10.0.0.7:8443/npm',
      GITHOST_URL: 'https://git.corp',
      BUILD_REACHABLE_HOSTS: 'files.corp, 10.0.0.8:9000 [fd00::1]:80',
    },
    npm,
    ['old-git.corp', 'fd00::2'],
  );
  const known = [
    ['packages.npmjs.org', 443],
    ['packages.yarnpkg.com', 443],
    ['npm.corp', 443],
    ['::1', 4873],
    ['localhost', 4874],
    ['10.0.0.7', 8443],
    ['git.corp', 443],
    ['old-git.corp', 22],
    ['fd00::2', 22],
    ['files.corp', 12_345],
    ['10.0.0.8', 9000],
    ['fd00::1', 80],
  ] as const;
  for (const [host, port] of known) assert.equal(isKnown!(host, port), true, `${host}:${port}`);
  for (const [host, port] of [
    ['no.example', 443],
    ['10.0.0.8', 9001],
    ['npm.corp', 80],
    ['127.0.0.1', 4874],
    // Addresses that read as one of the above with its port.
    ['::1:4873', 443],
    ['fd00::1:80', 443],
  ] as const)
    assert.equal(isKnown!(host, port), false, `${host}:${port}`);
  assert.deepEqual(loopback, [
    { host: 'localhost', port: 4874 },
    { host: '::1', port: 4873 },
  ]);
});

test('the proxy of the machine leads where its variables say', () => {
  const environment = {
    HTTPS_PROXY: 'http://me:secret@proxy.corp:3128',
    http_proxy: 'plain.corp:8080',
    HTTP_PROXY: 'http://not-this.corp',
    NO_PROXY: 'git.corp,.inside.corp, *.more.corp,npm.corp:4873',
    ALL_PROXY: 'socks5://proxy.corp',
  };
  const { proxyOf } = outbound(environment);
  const of = (host: string, port: number): string | null => proxyOf!(host, port)?.host ?? null;
  assert.equal(of('example.com', 443), 'proxy.corp:3128');
  assert.equal(of('example.com', 80), 'plain.corp:8080');
  assert.equal(of('npm.corp', 443), 'proxy.corp:3128');
  for (const host of ['git.corp', 'a.git.corp', 'a.inside.corp', 'more.corp', 'localhost', '127.0.0.1'])
    assert.equal(of(host, 443), null, host);
  assert.equal(of('npm.corp', 4873), null);
  assert.equal(outbound({}).proxyOf!('example.com', 443), null);
  assert.equal(
    outbound({}, 'https-proxy=http://of-npm.corp:3128\n').proxyOf!('example.com', 443)?.host,
    'of-npm.corp:3128',
  );
});

test('a setting that is no host and no proxy is refused by its name', () => {
  assert.throws(() => outbound({ BUILD_REACHABLE_HOSTS: 'npm.corp,https://npm.corp/' }), {
    message:
      'BUILD_REACHABLE_HOSTS has "https://npm.corp/": use hosts such as npm.example or 10.0.0.7:4873, comma-separated',
  });
  assert.throws(() => outbound({ HTTPS_PROXY: 'socks5://proxy.corp' }), {
    message: 'HTTPS_PROXY must be a proxy such as http://proxy.example:3128: builds go out through it',
  });
  assert.throws(() => outbound({ HTTPS_PROXY: 'http://me:100%@proxy.corp:3128' }), {
    message: 'HTTPS_PROXY has a user name or password that is not percent-encoded: write % as %25',
  });
});

test("options of Node that a project sets are its commands' own, not those of the program beside them", () => {
  const way = { socket: '/run/outbound/out.sock', loopback: [] };
  const env = { NODE_OPTIONS: '--require ./own.cjs', KEY: 'value' };
  const started = withOutbound(way, ['npm', 'ci'], env);
  assert.deepEqual(started.env, { KEY: 'value' });
  assert.deepEqual(JSON.parse(started.words.at(-1)!), {
    ...way,
    words: ['npm', 'ci'],
    nodeOptions: '--require ./own.cjs',
  });
  assert.deepEqual(withOutbound(null, ['npm', 'ci'], env), { words: ['npm', 'ci'], env });
});

test(
  'a connection above the limit is closed, also when the build keeps its end open',
  { timeout: 120_000 },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'outbound-'));
    const listener = await openListener(join(folder, 'outbound'), null, outbound({}));
    t.after(async () => {
      await listener.close();
      rmSync(folder, { recursive: true });
    });
    const sockets = Array.from({ length: 257 }, () =>
      connect({ path: join(listener.folder, 'out.sock'), allowHalfOpen: true }).on('error', () => {}),
    );
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    const last = sockets.at(-1)!;
    const [answer] = (await once(last, 'data')) as [Buffer];
    assert.match(answer.toString(), /^EMFILE /);
    await once(last, 'end');
    const writing = assert.rejects(once(last, 'close'), { code: 'EPIPE' });
    last.write('example.com:443\n');
    await writing;
  },
);

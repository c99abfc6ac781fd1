// Which hosts may have a certificate, and how often an authority is asked after it failed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAsk } from '#runtime/edge/ask.ts';
import { edgeConfiguration } from '#runtime/edge/configuration.ts';
import { createFailures } from '#runtime/edge/failures.ts';
import { knownHosts } from '#runtime/edge/known-hosts.ts';
import { routeRecord } from '#test/setup/route-record.ts';

const ID = 'd000000000001';
const record = routeRecord(ID, { id: ID, artifact: 'a'.repeat(64), branch: 'main', createdAt: '2026-01-01T00:00:00Z' });
const { project } = record;

test('custom domains that serve, hosts of deployments and the platform have certificates, nobody else', () => {
  const hosts = knownHosts(
    [
      {
        ...record,
        production: ID,
        branches: { main: ID },
        domains: ['shop.example', 'evil.apps.example', 'apps.example', 'api.example'],
        branchDomains: { 'main.shop.example': 'main', 'gone.shop.example': 'gone', 'p.shop.example': '__proto__' },
        redirects: { 'www.shop.example': 'shop.example' },
      },
      { ...record, project: 'other', production: null, branches: {}, deployments: {}, domains: ['other.example'] },
    ],
    ['apps.example'],
    ['api.example'],
  );
  for (const host of ['shop.example', 'main.shop.example', 'www.shop.example'])
    assert.equal(hosts.kindOf(host), 'custom', host);
  for (const label of [project, `${project}--main`, `${project}--${ID}`])
    assert.equal(hosts.kindOf(`${label}.apps.example`), 'deployment', label);
  assert.equal(hosts.kindOf('api.example'), 'platform');
  for (const host of [
    'apps.example',
    'evil.apps.example',
    'other.apps.example',
    'other.example',
    'gone.shop.example',
    'p.shop.example',
    `x.${project}.apps.example`,
    `${project}.apps.example.evil.example`,
    `${project}--d000000000002.apps.example`,
    '__proto__',
    '',
  ])
    assert.equal(hosts.kindOf(host), null, host);
  assert.deepEqual([...hosts.eager()].sort(), ['api.example', 'main.shop.example', 'shop.example', 'www.shop.example']);
});

test('after a failure the pause grows, and who limits us is left alone for the longest', () => {
  let now = 0;
  const failures = createFailures({ retryMs: 1000, retryMsMax: 60_000, most: 2 }, () => now);
  const pauses = [1, 2, 3].map(() => {
    now += 100_000;
    return failures.add('a.example', 'refused\nwith a second line') - now;
  });
  assert.deepEqual(pauses, [1000, 2000, 4000]);
  assert.equal(failures.of('a.example')?.problem, 'refused with a second line');
  // A second line about the same attempt counts nothing.
  assert.equal(failures.add('a.example', 'refused') - now, 4000);
  assert.equal(failures.add('b.example', 'HTTP 429 urn:ietf:params:acme:error:rateLimited') - now, 60_000);
  failures.add('c.example', 'x'.repeat(10_000));
  assert.equal(failures.of('a.example'), null, 'only so many are remembered');
  assert.equal(failures.of('c.example')?.problem.length, 500);
  failures.clear('c.example');
  assert.equal(failures.of('c.example'), null);
});

test('only names that are known may be asked for, one at a time, under the secret path, and not too many', async () => {
  const asked: string[] = [];
  const ask = await openAsk({
    refusal: (host) => (asked.push(host), Promise.resolve(host === 'shop.example' ? null : 'nobody has it')),
    onRefused: () => {},
    perSecond: 12,
  });
  const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;
  try {
    const of = (query: string): Promise<number> => statusOf(`${ask.url}?${query}`);
    assert.equal(await of('domain=shop.example'), 200);
    assert.equal(await of('domain=SHOP.example.'), 200);
    assert.equal(await of('domain=other.example'), 403);
    for (const query of [
      '',
      'domain=',
      'domain=a&domain=b',
      'domain=127.0.0.1%00',
      'domain=*.example',
      `domain=${'a.'.repeat(200)}b`,
    ])
      assert.equal(await of(query), 400, query);
    assert.equal(await statusOf(`${new URL(ask.url).origin}/?domain=shop.example`), 404);
    assert.equal((await fetch(`${ask.url}?domain=shop.example`, { method: 'POST' })).status, 404);
    assert.deepEqual(asked, ['shop.example', 'shop.example', 'other.example']);
    const statuses = await Promise.all(Array.from({ length: 40 }, () => of('domain=shop.example')));
    assert.ok(statuses.includes(429));
  } finally {
    ask.close();
  }
});

test('settings that are wrong are named, all of them at once', () => {
  assert.throws(
    () =>
      edgeConfiguration({
        EDGE_HANDLERS: 'handler:4001, http://x',
        EDGE_CERTIFICATE_FILE: '/nowhere.pem',
        ACME_URL: 'http://acme.example',
        ACME_EMAIL: 'nobody',
        ACME_CA_FILE: '/nowhere.crt',
        EDGE_RENEWAL_RATIO: '2',
        EDGE_HTTPS_PORT: '99999',
      }),
    (error: Error) => {
      for (const word of [
        'EDGE_HTTPS_PORT',
        'http://x',
        'EDGE_KEY_FILE',
        'ACME_URL',
        'ACME_EMAIL',
        'ACME_CA_FILE',
        'RATIO',
        'FS_PATH',
      ])
        assert.match(error.message, new RegExp(word));
      return true;
    },
  );
  const { sites, handlers } = edgeConfiguration({
    FS_PATH: '/data',
    PUBLIC_API_URL: 'https://api.example',
    AUTH_URL: 'http://localhost:3002',
    DOCS_URL: 'https://docs.example',
    DOCS_PORT: 'off',
  });
  assert.deepEqual([sites, handlers], [[{ host: 'api.example', upstream: '127.0.0.1:4002' }], ['127.0.0.1:4001']]);
});

// Which deployments are previews, and who gets what a branch sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeploymentRecord, RouteRecord } from '#core/manifest.ts';
import { ofPreview, previewIn, previewOf, recipientOf, variablesOf, withoutPreview } from '#core/preview.ts';
import { usersResource } from '#runtime/engine/bindings/auth.ts';
import { isDatabaseName } from '#runtime/databases/protocol/database-name.ts';
import { routeRecord } from '#test/setup/route-record.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

function record(
  production: string | null,
  deployments: Readonly<Record<string, Partial<DeploymentRecord>>>,
): RouteRecord {
  const all = Object.entries(deployments).map(([id, more]): DeploymentRecord => ({
    id,
    artifact: 'a'.repeat(64),
    branch: 'main',
    createdAt: '2026-11-21T00:00:00Z',
    ...more,
  }));
  return routeRecord(production, ...all);
}

test('a deployment of another branch than that of production is a preview, by the slug of its host', () => {
  const shop = record('d1', { d1: {}, d2: { branch: 'login' }, d3: { branch: 'Feature/X' }, d4: {} });
  assert.equal(previewOf(shop, 'd1'), null);
  assert.equal(previewOf(shop, 'd2'), 'login');
  assert.match(String(previewOf(shop, 'd3')), /^feature-x-[0-9a-f]{6}$/);
  // An older or newer one of the branch of production.
  assert.equal(previewOf(shop, 'd4'), null);
  assert.equal(previewOf(shop, 'toString'), null);
});

test('a preview that is promoted works on the databases of production, and what was production before keeps them', () => {
  const shop = record('d2', {
    d1: { target: 'production' },
    d2: { branch: 'login', target: 'preview' },
    d3: { branch: 'other' },
  });
  assert.deepEqual(
    ['d1', 'd2', 'd3'].map((id) => previewOf(shop, id)),
    [null, null, 'other'],
  );
});

test('previews never see the variables of production; those of a branch go before those of all previews', () => {
  const deployments = record('d1', {
    d1: { target: 'production' },
    d2: { branch: 'login' },
    d3: { branch: 'constructor' },
  });
  const shop = {
    ...deployments,
    vars: { KEY: 'secret' },
    previewVars: { KEY: 'test', A: '1' },
    branchVars: { login: { A: '2' } },
  };
  assert.deepEqual(
    ['d1', 'd2', 'd3'].map((id) => variablesOf(shop, id)),
    [{ KEY: 'secret' }, { KEY: 'test', A: '2' }, { KEY: 'test', A: '1' }],
  );
  // They follow what it works on.
  assert.deepEqual(variablesOf({ ...shop, production: 'd2' }, 'd2'), { KEY: 'secret' });
  // A record from before they were told apart.
  assert.deepEqual(variablesOf({ ...deployments, vars: { KEY: 'secret' } }, 'd2'), {});
});

test('a deployment keeps the variables that it was released with', () => {
  const shop = record('d1', { d1: { target: 'production' }, d2: { target: 'production', vars: { KEY: 'before' } } });
  assert.deepEqual(
    ['d1', 'd2'].map((id) => variablesOf({ ...shop, vars: { KEY: 'now' } }, id)),
    [{ KEY: 'now' }, { KEY: 'before' }],
  );
});

test('without production every deployment is a preview', () => {
  assert.equal(previewOf(record(null, { d1: {} }), 'd1'), 'main');
});

test('the copy of a preview has a name that no project can declare', () => {
  assert.equal(ofPreview('users', 'login'), 'users~~login');
  assert.equal(ofPreview('users', null), 'users');
});

test('no branch and no database is called so that a preview would get the users of production', () => {
  assert.notEqual(ofPreview('auth', previewOf(record('d1', { d1: {}, d2: { branch: 'users' } }), 'd2')), usersResource);
  assert.equal(previewIn(usersResource), null);
});

test('events of production go to what serves, those of a preview to the newest deployment of its branch and to nobody else', () => {
  // Rolled back: the newest of main is not what serves.
  const shop = record('d1', { d1: {}, d2: {}, d3: { branch: 'login' }, d4: { branch: 'login' } });
  assert.equal(recipientOf(shop, 'main', null), 'd1');
  assert.equal(recipientOf(shop, 'gone', null), 'd1');
  assert.equal(recipientOf(shop, 'login', 'login'), 'd4');
  assert.equal(recipientOf(shop, 'gone', 'gone'), null);
  assert.equal(recipientOf(shop, 'constructor', 'constructor'), null);
  assert.equal(recipientOf(record(null, { d1: {} }), 'gone', null), null);
});

test('what waits for a preview stays there when its branch becomes production', () => {
  const shop = record('d3', { d1: { target: 'production' }, d3: { branch: 'login' } });
  assert.equal(recipientOf(shop, 'login', 'login'), null);
  assert.equal(recipientOf(shop, 'main', null), 'd3');
});

test('a name of a preview says whose it is and of which branch', () => {
  assert.deepEqual([previewIn('users~~login'), withoutPreview('users~~login')], ['login', 'users']);
  assert.deepEqual([previewIn('users'), withoutPreview('users')], [null, 'users']);
});

test('whatever a branch is called, its databases and users have names that lie in their folders', () => {
  const random = createSeededRandom();
  for (let round = 0; round < 2000; round++) {
    const branch = random.text(['/', '..', '~', 'a', 'B', '-', 'é', '\u{1f600}', '\0', ' ', 'x'.repeat(90)], 6);
    const preview = previewOf(record('d1', { d1: {}, d2: { branch } }), 'd2');
    const name = `shop/${ofPreview('r'.repeat(64), preview)}`;
    assert.ok(
      preview !== null && isDatabaseName(name) && isDatabaseName(`${ofPreview('shop', preview)}/auth~users`),
      `seed ${random.seed}`,
    );
  }
});

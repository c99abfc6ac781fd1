// Route files: what is taken, what is refused, and that changes arrive.
import assert from 'node:assert/strict';
import fs, { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parseRouteRecord } from '#artifacts/route-record.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import type { RouteProblem, RouteRecordChange } from '#artifacts/route-source.ts';

const good = (project: string, more: object = {}): string =>
  JSON.stringify({
    version: 1,
    project,
    plan: 'free',
    vars: {},
    domains: [],
    production: 'd000000000001',
    branches: { main: 'd000000000001' },
    deployments: {
      d000000000001: {
        id: 'd000000000001',
        artifact: 'a'.repeat(64),
        branch: 'main',
        createdAt: '2026-11-21T00:00:00Z',
      },
    },
    ...more,
  });

async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'routes-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'routes'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'routes', name), text);
  return folder;
}

test('a complete record is taken as it is', () => {
  assert.equal(parseRouteRecord(good('shop')).project, 'shop');
});

for (const [what, text, message] of [
  ['no JSON', '{', /JSON/],
  ['no object', '[]', /object/],
  ['another version', good('shop', { version: 2 }), /version/],
  ['an unknown plan', good('shop', { plan: 'gold' }), /plan/],
  ['a field that nobody knows', good('shop', { extra: 1 }), /\/extra is not a known field/],
  ['a variable that is no text', good('shop', { vars: { A: 1 } }), /vars/],
  ['no project name', good('a--b'), /project name/],
  ['a production deployment that is not there', good('shop', { production: 'd000000000009' }), /production/],
  ['a branch whose deployment is not there', good('shop', { branches: { main: 'toString' } }), /branches/],
  ['a domain in upper case', good('shop', { domains: ['Shop.example.com'] }), /domains/],
  ['an artifact that leads elsewhere', good('shop').replace('a'.repeat(64), '../../x'), /artifact/],
] as const) {
  test(`a record with ${what} is refused`, () => {
    assert.throws(() => parseRouteRecord(text), message);
  });
}

test('good files are routes, broken ones are reported with file and reason', async (t) => {
  const folder = await folderWith(t, {
    'shop.json': good('shop'),
    'bad.json': '{',
    'other.json': good('shop'),
    'note.txt': 'x',
  });
  const problems: RouteProblem[] = [];
  const source = await openRouteFiles({ folder, onProblem: (problem) => problems.push(problem) });
  t.after(() => source.close());
  assert.deepEqual(
    source.routes.map(({ project }) => project),
    ['shop'],
  );
  assert.deepEqual(
    problems.map(({ file }) => file),
    [join(folder, 'routes', 'bad.json'), join(folder, 'routes', 'other.json')],
  );
  assert.match(problems[1]!.reason, /must be shop\.json/);
});

test('a file that is written, replaced, broken or removed changes the routes, and the last good version outlives a broken one', async (t) => {
  const folder = await folderWith(t, {});
  const problem = Promise.withResolvers<RouteProblem>();
  const source = await openRouteFiles({ folder, onProblem: problem.resolve });
  t.after(() => source.close());
  let changed = Promise.withResolvers<void>();
  let said: readonly RouteRecordChange[] = [];
  source.onChange((changes) => {
    said = changes;
    const before = changed;
    changed = Promise.withResolvers();
    before.resolve();
  });
  const path = join(folder, 'routes', 'shop.json');
  const write = async (text: string): Promise<void> => {
    const next = changed.promise;
    await writeFile(`${path}.tmp`, text);
    await rename(`${path}.tmp`, path);
    await next;
  };
  await write(good('shop'));
  assert.equal(source.routes[0]?.plan, 'free');
  await write(good('shop', { plan: 'pro' }));
  assert.equal(source.routes[0]?.plan, 'pro');
  assert.deepEqual(said, [{ project: 'shop', record: source.routes[0] }]);
  await write('{ broken');
  assert.equal((await problem.promise).file, path);
  assert.equal(source.routes[0]?.plan, 'pro');
  const next = changed.promise;
  await rm(path);
  await next;
  assert.deepEqual(source.routes, []);
  assert.deepEqual(said, [{ project: 'shop', record: null }]);
});

test('while one project deploys again and again, the files of the others are not looked at', async (t) => {
  const folder = await folderWith(t, { 'shop.json': good('shop'), 'blog.json': good('blog') });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const source = await openRouteFiles({ folder, onProblem: ({ reason }) => assert.fail(reason) });
  t.after(() => source.close());
  const stat = t.mock.method(fs, 'stat');
  syncBuiltinESMExports();
  t.after(() => {
    stat.mock.restore();
    syncBuiltinESMExports();
  });
  let heard = Promise.withResolvers<void>();
  source.onChange(() => heard.resolve());
  for (let deploy = 1; deploy <= 30; deploy++) {
    const file = join(folder, 'routes', 'shop.json');
    heard = Promise.withResolvers();
    await writeFile(`${file}.tmp`, good('shop', { vars: { N: String(deploy) } }));
    await rename(`${file}.tmp`, file);
    // It is looked whether something went unreported.
    t.mock.timers.tick(2000);
    await heard.promise;
  }
  const looked = stat.mock.calls.map((call) => String(call.arguments[0]));
  assert.equal(source.routes.find(({ project }) => project === 'shop')?.vars['N'], '30');
  assert.deepEqual(
    looked.filter((path) => path.endsWith('blog.json')),
    [],
  );
});

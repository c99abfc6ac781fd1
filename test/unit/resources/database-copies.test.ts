import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { platform } from '#packages/worker/index.ts';
import type { ResourceAccess } from '#resources/access.ts';
import { databaseCopies } from '#resources/database-copies.ts';
import { until } from '../../setup/until.ts';

/** Routes over an engine that copies a database as this says. */
function setup(t: TestContext, copy: (file: string) => void): { transit: string; fetch: () => Promise<Response> } {
  const transit = mkdtempSync(path.join(tmpdir(), 'platform-copies-'));
  t.after(() => rmSync(transit, { recursive: true }));
  const ask = async (_operation: string, { args }: { args: { file: string } }): Promise<{ bytes: number }> => {
    copy(args.file);
    return { bytes: 4 };
  };
  const app = platform()
    .state({
      resources: { transit, ask, refuse: (_why: string, text: string) => new Error(text) } as unknown as ResourceAccess,
    })
    .onError((error) => new Response((error as Error).message, { status: 503 }))
    .route('/', databaseCopies)
    .build();
  return {
    transit,
    fetch: async () => app.fetch(new Request('http://api/projects/shop/databases/DB/export'), {}),
  };
}

test('an exported copy is gone from the disk before it is sent', async (t) => {
  const { transit, fetch } = setup(t, (file) => writeFileSync(file, 'rows'));
  const answer = await fetch();
  assert.deepEqual([answer.status, answer.headers.get('content-length')], [200, '4']);
  assert.deepEqual(
    readdirSync(transit).map((name) => path.extname(name)),
    [''],
    'only the mark of the export',
  );
  assert.equal(await answer.text(), 'rows');
});

test('two exports of a project are open at a time, until they are downloaded or cancelled', async (t) => {
  const { transit, fetch } = setup(t, (file) => writeFileSync(file, 'rows'.repeat(1_000_000)));
  const [first, second] = [await fetch(), await fetch()];
  const refused = await fetch();
  assert.deepEqual(
    [refused.status, await refused.text()],
    [503, 'Limit of open exports reached: 2 per project. Try again when one has ended'],
  );
  await first.text();
  await second.body!.cancel();
  await until(() => readdirSync(transit).length === 0);
  assert.equal((await (await fetch()).text()).length, 4_000_000);
});

test('a copy that was completed after its request had timed out counts, and is deleted later', async (t) => {
  const { transit, fetch } = setup(t, (file) => {
    writeFileSync(file, 'late');
    throw new Error('no answer in time');
  });
  for (let at = 0; at < 2; at++) assert.equal(await (await fetch()).text(), 'no answer in time');
  const [late] = readdirSync(transit) as [string, string];
  assert.match(await (await fetch()).text(), /^Limit of open exports reached/);
  assert.equal(readdirSync(transit).length, 2, 'they may still be read');
  const before = Date.now() / 1000 - 3 * 3600;
  utimesSync(path.join(transit, late), before, before);
  assert.equal(await (await fetch()).text(), 'no answer in time');
  assert.deepEqual([readdirSync(transit).length, readdirSync(transit).includes(late)], [2, false]);
});

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { platform } from '#packages/worker/index.ts';
import type { ResourceAccess } from '#resources/access.ts';
import { databaseCopies } from '#resources/database-copies.ts';

/** Routes over an engine that copies a database as this says. */
function setup(t: TestContext, copy: (file: string) => void): { transit: string; fetch: () => Promise<Response> } {
  const transit = mkdtempSync(path.join(tmpdir(), 'platform-copies-'));
  t.after(() => rmSync(transit, { recursive: true }));
  const ask = async (_operation: string, { args }: { args: { file: string } }): Promise<{ bytes: number }> => {
    copy(args.file);
    return { bytes: 4 };
  };
  const app = platform()
    .state({ resources: { transit, ask } as unknown as ResourceAccess })
    .onError(() => new Response(null, { status: 503 }))
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
  assert.deepEqual([answer.status, answer.headers.get('content-length'), readdirSync(transit)], [200, '4', []]);
  assert.equal(await answer.text(), 'rows');
});

test('a copy that was completed after its request had timed out is deleted later', async (t) => {
  const { transit, fetch } = setup(t, (file) => {
    writeFileSync(file, 'late');
    throw new Error('no answer in time');
  });
  assert.equal((await fetch()).status, 503);
  const [late] = readdirSync(transit) as [string];
  assert.equal((await fetch()).status, 503);
  assert.equal(readdirSync(transit).length, 2, 'it may still be read');
  const before = Date.now() / 1000 - 3 * 3600;
  utimesSync(path.join(transit, late), before, before);
  assert.equal((await fetch()).status, 503);
  assert.deepEqual([readdirSync(transit).length, readdirSync(transit).includes(late)], [2, false]);
});

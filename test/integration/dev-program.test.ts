// `platform dev` as users start it, a program of its own; what it does beyond this, dev-*.test.ts see in their process.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startDev } from '#test/setup/dev.ts';

const worker = (word: string): string =>
  `export default { fetch: async (request, { KV }) => Response.json(['${word}', await KV.update('visits', { $inc: { n: 1 } })]) };\n`;

test('the program serves, follows a save, keeps what it has over a kill -9, and ends when it is asked to', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'dev-program-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'platform.yaml'), 'state: { KV: counters }\n');
  writeFileSync(path.join(folder, 'src/index.ts'), worker('one'));
  const first = await startDev(folder);
  t.after(() => first.close());
  assert.deepEqual((await first.fetch()).json(), ['one', { n: 1 }]);
  const reloaded = first.printed(/Reloaded/);
  writeFileSync(path.join(folder, 'src/index.ts'), worker('two'));
  await reloaded;
  assert.deepEqual((await first.fetch()).json(), ['two', { n: 2 }]);
  await first.kill();
  const second = await startDev(folder);
  t.after(() => second.close());
  assert.deepEqual((await second.fetch()).json(), ['two', { n: 3 }]);
  assert.deepEqual(await second.close(), { code: 0, signal: null });
});

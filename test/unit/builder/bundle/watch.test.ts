// builder/bundle/watch.ts: a save leads to one result, also after an error, also when the file was missing.
import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { watch, type WatchResult } from '#builder/bundle/watch.ts';
import { projectFolder, writeFiles } from '../project-folder.ts';

/** Watches a project; `next()` resolves with each result in turn. */
function watching(
  t: TestContext,
  root: string,
  entry = 'src/index.ts',
): { next(): Promise<WatchResult>; results: WatchResult[] } {
  const results: WatchResult[] = [];
  const waiting: ((result: WatchResult) => void)[] = [];
  const running = watch({ root, entry: join(root, entry), nodeCompat: true }, (result) => {
    const first = waiting.shift();
    if (first) first(result);
    else results.push(result);
  });
  t.after(() => running.close());
  return {
    results,
    next() {
      const ready = results.shift();
      return ready ? Promise.resolve(ready) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

const saying = (word: string): string => `export default { fetch: () => "${word}" };`;

test('the first bundle comes without a change, the next after a save', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': saying('one') });
  const { next } = watching(t, root);
  assert.match((await next()).bundle?.code ?? '', /"one"/);
  writeFiles(root, { 'src/index.ts': saying('two') });
  assert.match((await next()).bundle?.code ?? '', /"two"/);
});

test('a save of an imported file and one by renaming over it count', async (t) => {
  const root = projectFolder(t, {
    'src/index.ts': 'import { word } from "../lib/word.ts"; export default { fetch: () => word };',
    'lib/word.ts': 'export const word = "one";',
  });
  const { next } = watching(t, root);
  await next();
  writeFileSync(join(root, 'lib/.word.tmp'), 'export const word = "two";');
  renameSync(join(root, 'lib/.word.tmp'), join(root, 'lib/word.ts'));
  assert.match((await next()).bundle?.code ?? '', /"two"/);
});

test('an error is a result, and its repair another', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': saying('one') });
  const { next } = watching(t, root);
  await next();
  writeFiles(root, { 'src/index.ts': 'export default {' });
  const { error } = await next();
  assert.equal(error?.code, 'syntax');
  assert.equal(error?.place?.file, 'src/index.ts');
  writeFiles(root, { 'src/index.ts': saying('two') });
  assert.match((await next()).bundle?.code ?? '', /"two"/);
});

test('a missing file that is created ends the error', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': 'import "./late.ts"; export default { fetch: () => 1 };' });
  const { next } = watching(t, root);
  assert.equal((await next()).error?.code, 'unresolved_import');
  writeFiles(root, { 'src/late.ts': 'globalThis.late = true;' });
  assert.match((await next()).bundle?.code ?? '', /globalThis\.late/);
});

test('an entry that is deleted and comes back is bundled again', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': saying('one') });
  const { next } = watching(t, root);
  await next();
  rmSync(join(root, 'src/index.ts'));
  assert.equal((await next()).error?.message, "The worker's entry src/index.ts does not exist");
  writeFiles(root, { 'src/index.ts': saying('two') });
  assert.match((await next()).bundle?.code ?? '', /"two"/);
});

test('a save that changes nothing gives no result', async (t) => {
  const root = projectFolder(t, { 'src/index.ts': saying('one') });
  const { next, results } = watching(t, root);
  await next();
  writeFiles(root, { 'src/index.ts': `// a comment\n${saying('one')}` });
  writeFiles(root, { 'src/index.ts': saying('three') });
  assert.match((await next()).bundle?.code ?? '', /"three"/);
  assert.deepEqual(results, []);
});

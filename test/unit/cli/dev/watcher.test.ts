// Watching a project folder.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { watchFolder } from '#cli/dev/watcher.ts';

/** A watched folder with `src/` and `node_modules/`; `seen(path)` settles when a change to that path was told. */
function watched(
  t: TestContext,
  ignored: readonly string[] = [],
): { folder: string; seen: (wanted: string) => Promise<void>; told: Set<string> } {
  const folder = mkdtempSync(path.join(tmpdir(), 'watch-'));
  mkdirSync(path.join(folder, 'src'));
  mkdirSync(path.join(folder, 'node_modules/x'), { recursive: true });
  const told = new Set<string>();
  const waiting = new Map<string, () => void>();
  const watcher = watchFolder(folder, ignored, (paths) => {
    for (const changed of paths) {
      told.add(changed);
      waiting.get(changed)?.();
    }
  });
  t.after(() => {
    watcher.close();
    rmSync(folder, { recursive: true });
  });
  const seen = (wanted: string): Promise<void> =>
    new Promise((resolve) => {
      if (told.has(wanted)) resolve();
      else waiting.set(wanted, resolve);
    });
  return { folder, seen, told };
}

test('a changed file is told with its path', async (t) => {
  const { folder, seen, told } = watched(t);
  writeFileSync(path.join(folder, 'src/index.ts'), 'a');
  await seen('src/index.ts');
  assert.ok(told.has('src/index.ts'));
});

test('a file replaced by renaming, as editors do, is told', async (t) => {
  const { folder, seen, told } = watched(t);
  writeFileSync(path.join(folder, 'src/index.ts~'), 'a');
  renameSync(path.join(folder, 'src/index.ts~'), path.join(folder, 'src/index.ts'));
  await seen('src/index.ts');
  assert.ok(told.has('src/index.ts'));
});

test('a folder that appears later is watched too', async (t) => {
  const { folder, seen, told } = watched(t);
  mkdirSync(path.join(folder, 'src/deep/er'), { recursive: true });
  await seen('src/deep');
  writeFileSync(path.join(folder, 'src/deep/er/a.ts'), 'a');
  await seen('src/deep/er/a.ts');
  assert.ok(told.has('src/deep/er/a.ts'));
});

test('a folder that is deleted and made again is still watched', async (t) => {
  const { folder, seen, told } = watched(t);
  rmSync(path.join(folder, 'src'), { recursive: true });
  await seen('src');
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'marker'), 'a');
  await seen('marker');
  writeFileSync(path.join(folder, 'src/again.ts'), 'a');
  await seen('src/again.ts');
  assert.ok(told.has('src/again.ts'));
});

test('installed and ignored folders are left alone', async (t) => {
  const { folder, seen, told } = watched(t, ['dist']);
  writeFileSync(path.join(folder, 'node_modules/x/index.js'), 'a');
  writeFileSync(path.join(folder, 'dev.log'), 'a');
  mkdirSync(path.join(folder, 'dist'));
  writeFileSync(path.join(folder, 'dist/a.js'), 'a');
  writeFileSync(path.join(folder, 'last.txt'), 'a');
  await seen('last.txt');
  assert.deepEqual([...told], ['last.txt']);
});

test('where the system allows no more watches, the error says what to do and leaves none open', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'watch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['a', 'b', 'c']) mkdirSync(path.join(folder, name));
  for (const code of ['ENOSPC', 'EMFILE']) {
    let opened = 0;
    let open = 0;
    const scarce = ((...given: Parameters<typeof watch>) => {
      if (opened === 2) throw Object.assign(new Error('no'), { code });
      const watcher = watch(...given);
      const { close } = watcher;
      watcher.close = () => void (open--, close.call(watcher));
      opened++;
      open++;
      return watcher;
    }) as typeof watch;
    assert.throws(() => watchFolder(folder, [], () => {}, { watch: scarce }), {
      message: 'The system does not allow more folder watches',
      advice: 'Raise fs.inotify.max_user_watches and max_user_instances (sysctl), or build once with --no-watch.',
    });
    assert.deepEqual([opened, open], [2, 0]);
  }
  assert.throws(() => watchFolder(folder, [], () => {}, { foldersMax: 3 }), {
    message: 'There are more than 3 folders to watch',
  });
});

test('a folder that comes when no more can be watched is told of once', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'watch-'));
  const limit = Promise.withResolvers<Error>();
  let told = 0;
  const onLimit = (error: Error): void => {
    told++;
    limit.resolve(error);
  };
  const seen = Promise.withResolvers<void>();
  const onChange = (paths: readonly string[]): void => void (paths.includes('last') && seen.resolve());
  const watcher = watchFolder(folder, [], onChange, { foldersMax: 1, onLimit });
  t.after(() => {
    watcher.close();
    rmSync(folder, { recursive: true });
  });
  mkdirSync(path.join(folder, 'one'));
  mkdirSync(path.join(folder, 'two'));
  assert.match((await limit.promise).message, /more than 1 folders/);
  writeFileSync(path.join(folder, 'last'), '');
  await seen.promise;
  assert.equal(told, 1);
});

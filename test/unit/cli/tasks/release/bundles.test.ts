// The bundle behind an entry of a packed program, run by Node.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { bundledEntries, bundleEntries } from '#cli/tasks/release/bundles.ts';
import { root } from '#cli/tasks/tools/processes.ts';

/** A program of these files, bundled. @returns its folder. */
async function bundled(t: TestContext, files: Readonly<Record<string, string>>, ...entries: string[]): Promise<string> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'bundles-')));
  t.after(() => rmSync(folder, { recursive: true }));
  write(folder, 'package.json', '{"type":"module","imports":{"#core/*":"./core/*"}}');
  for (const [file, text] of Object.entries(files)) write(folder, file, text);
  await bundleEntries(folder, entries);
  return folder;
}

function write(folder: string, file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}

const printed = (folder: string, entry: string): string =>
  execFileSync(process.execPath, [path.join(folder, entry)], { encoding: 'utf8' });

test('an entry runs from its bundle, and its packages and missing modules are looked for when imported', async (t) => {
  const folder = await bundled(
    t,
    {
      'control/main.js': [
        "import { word } from '#core/word.js';",
        "import { name } from 'found-later';",
        "console.log(word, name, (await import('./lazy.js')).lazy);",
        "console.log(await import('./missing.js').catch((error) => error.code));",
      ].join('\n'),
      'control/lazy.js': "export const lazy = 'lazy';",
      'core/word.js': "export const word = 'word';",
    },
    'control/main.js',
    'web/main.js',
  );
  rmSync(path.join(folder, 'core'), { recursive: true });
  rmSync(path.join(folder, 'control/lazy.js'));
  write(folder, 'node_modules/found-later/package.json', '{"type":"module","exports":"./index.js"}');
  write(folder, 'node_modules/found-later/index.js', "export const name = 'later';");
  assert.equal(printed(folder, 'control/main.js'), 'word later lazy\nERR_MODULE_NOT_FOUND\n');
});

test('a module in a bundle finds files by the place of the module', async (t) => {
  const folder = await bundled(
    t,
    {
      'runtime/engine/main.js': "import '#core/place.js';\nexport const exported = 1;",
      'core/place.js': [
        "import { createRequire } from 'node:module';",
        'console.log(import.meta.dirname, import.meta.filename, import.meta.url);',
        "console.log('import.meta.url', createRequire(import.meta.url)('../package.json').type);",
        "console.log(process.argv[1] === import.meta.filename, import.meta.resolve('node:fs'));",
      ].join('\n'),
    },
    'runtime/engine/main.js',
  );
  assert.equal(
    printed(folder, 'runtime/engine/main.js'),
    `${folder}/core ${folder}/core/place.js file://${folder}/core/place.js\n` +
      'import.meta.url module\nfalse node:fs\n',
  );
  assert.equal(((await import(path.join(folder, 'runtime/engine/main.js'))) as { exported: number }).exported, 1);
});

test('each entry is a module of this program', () => {
  assert.deepEqual(
    bundledEntries.filter((entry) => !existsSync(path.join(root, entry.replace(/\.js$/, '.ts')))),
    [],
  );
});

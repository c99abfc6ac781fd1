// What packing makes of a module and of a manifest.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { emittedExports, packPackages, programManifest, renamedDeclarations, toJavaScript } from '#cli/tasks/pack.ts';

test('types go, lines stay, and specifiers of host modules end in .js', () => {
  const source = [
    "import type { A } from './a.ts';",
    "import { b, type B } from '#core/b.ts';",
    "import yaml from 'yaml';",
    "export * from '../x.ts';",
    "const c: number = (await import('./c.ts')).c;",
    "const file = new URL('./d.ts', import.meta.url);",
    "const text = \"import './e.ts'\"; // './f.ts'",
  ].join('\n');
  const lines = toJavaScript('runtime/engine/isolates/pool.ts', source).split('\n');
  assert.equal(lines.length, 7);
  assert.equal(lines[0]!.trim(), '');
  assert.match(lines[1]!, /^import \{ b, +\} from '#core\/b\.js';$/);
  assert.equal(lines[2], "import yaml from 'yaml';");
  assert.equal(lines[3], "export * from '../x.js';");
  assert.match(lines[4]!, /^const c +?= \(await import\('\.\/c\.js'\)\)\.c;$/);
  assert.equal(lines[5], "const file = new URL('./d.js', import.meta.url);");
  assert.equal(lines[6], "const text = \"import './e.ts'\"; // './f.ts'");
});

test('a guest source keeps its name: it is bundled at run time', () => {
  assert.equal(
    toJavaScript('runtime/engine/isolates/snapshot.ts', "const file = new URL('../guest/main.ts', import.meta.url);"),
    "const file = new URL('../guest/main.ts', import.meta.url);",
  );
});

test('the packed manifest has the pinned dependencies and nothing of development', () => {
  const manifest = programManifest({
    name: 'platform',
    version: '1.2.3',
    private: true,
    scripts: { test: 'x' },
    imports: { '#core/*': './core/*', '#test/*': './test/*' },
    dependencies: { yaml: '2.9.1' },
    devDependencies: { hono: '1' },
  });
  assert.equal(manifest['name'], '@platform-run/cli');
  assert.deepEqual(manifest['imports'], { '#core/*': './core/*' });
  assert.deepEqual(manifest['dependencies'], { yaml: '2.9.1' });
  assert.deepEqual(
    ['private', 'scripts', 'devDependencies'].filter((key) => key in manifest),
    [],
  );
});

test('exports of a package name declarations and JavaScript', () => {
  assert.deepEqual(emittedExports({ '.': './index.ts', './x': { default: './src/x.ts' }, './types': './types.d.ts' }), {
    '.': { types: './index.d.ts', default: './index.js' },
    './x': { default: { types: './src/x.d.ts', default: './src/x.js' } },
    './types': './types.d.ts',
  });
});

test('declarations of a package import .js too', () => {
  assert.equal(
    renamedDeclarations(
      "export { a } from './a.ts';\ntype B = import('../b.ts').B;\nimport type { C } from './c.d.ts';\nimport 'd.ts';",
    ),
    "export { a } from './a.js';\ntype B = import('../b.js').B;\nimport type { C } from './c.d.ts';\nimport 'd.ts';",
  );
});

test('one package is packed by its name, and no other', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pack-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [tarball, ...others] = await packPackages(folder, ['types']);
  assert.match(path.basename(tarball!), /^platform-run-types-\d+\.\d+\.\d+\.tgz$/);
  assert.deepEqual(others, []);
  await assert.rejects(packPackages(folder, ['nope']), { message: 'packages/nope does not exist' });
});

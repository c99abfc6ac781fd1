// Which modules a module names, in all ways in which a program can load them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readImports } from '#cli/tasks/tools/imports.ts';

for (const [what, text, expected] of [
  ['an import', "import { a } from './a.ts';", ['./a.ts']],
  ['an export', "export * from './a.ts';", ['./a.ts']],
  ['an import in an expression', "const { a } = await import('./a.ts');", ['./a.ts']],
  ['a type', "type A = import('./a.ts').A;", ['./a.ts']],
  [
    'a require under any name',
    "import { createRequire } from 'node:module';\nconst load = createRequire(import.meta.url) as (name: 'croner') => unknown;\nload('croner');",
    ['node:module', 'croner'],
  ],
  [
    'a require that is called at once, and what it resolves',
    "import { createRequire } from 'node:module';\n(createRequire(import.meta.url)('undici') as object);\ncreateRequire(import.meta.url).resolve('nitro/package.json');\nconst require = createRequire(import.meta.filename);\nrequire.resolve('vite');",
    ['node:module', 'undici', 'nitro/package.json', 'vite'],
  ],
  [
    'a name that is resolved, also with a path that is computed',
    "import.meta.resolve('vite/module-runner');\nimport.meta.resolve(`unenv/node/${name}`, import.meta.url);\nimport.meta.resolve(`${name}/x`);",
    ['vite/module-runner', 'unenv/'],
  ],
] as const)
  test(`${what} is read`, () => {
    assert.deepEqual(
      readImports('module.ts', text).map(({ specifier }) => specifier),
      expected,
    );
  });

test('a call of another function names no module, nor does a require of another folder or a path', () => {
  const text =
    "path.resolve('a');\nload('b');\nrequire('c');\ncreateRequire(folder)('d');\ncreateRequire(import.meta.url)('./e.json');";
  assert.deepEqual(readImports('module.ts', text), []);
});

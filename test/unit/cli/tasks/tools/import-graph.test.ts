// What the import graph says of small made-up trees.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import {
  arrowsBetween,
  arrowsOf,
  exportUses,
  importCycles,
  readModules,
  type Arrow,
} from '#cli/tasks/tools/import-graph.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';

function arrows(sources: Sources): readonly Arrow[] {
  return arrowsOf(readModules(sources));
}

function never(sources: Sources, open: readonly string[] = []): string[] {
  return exportUses(readModules(sources), (file) => open.includes(file))
    .filter(({ importers }) => importers.length === 0)
    .map(({ file, name }) => `${file} ${name}`);
}

test('an arrow has the kind of its import and the exports it names', () => {
  const text = [
    "import first, { b as c, type D } from './b.ts';",
    "import type { E } from '#core/e.ts';",
    "import * as all from './all.ts';",
    "import './effects.ts';",
    "import fs from 'node:fs';",
    "export { f as g } from './f.ts';",
    "export type { H } from './h.ts';",
    "const { i, j: k } = await import('./i.ts');",
    "const l = (await import('./l.ts')).m;",
    "void import('./n.ts').then(({ o }) => o);",
    "void import('./p.ts');",
    "type Q = import('./q.ts').R;",
    "declare module './s.ts' { interface T {} }",
  ].join('\n');
  assert.deepEqual(
    arrows({ 'cli/a.ts': text }).map(({ to, kind, names }) => [to, kind, ...names]),
    [
      ['cli/b.ts', 'static', 'default', 'b', 'D'],
      ['core/e.ts', 'type', 'E'],
      ['cli/all.ts', 'static', '*'],
      ['cli/effects.ts', 'static'],
      ['cli/f.ts', 'static', 'f'],
      ['cli/h.ts', 'type', 'H'],
      ['cli/i.ts', 'dynamic', 'i', 'j'],
      ['cli/l.ts', 'dynamic', 'm'],
      ['cli/n.ts', 'dynamic', 'o'],
      ['cli/p.ts', 'dynamic', '*'],
      ['cli/q.ts', 'type', 'R'],
      ['cli/s.ts', 'type', 'T'],
    ],
  );
});

test('an export that no other module names is found, whatever its kind', () => {
  const sources = {
    'cli/main.ts': "import { used } from './a.ts'; import type { Shown } from './a.ts'; export const entry = used;",
    'cli/a.ts':
      'export const used = 1, unused = 2; export interface Shown {} export type Hidden = Shown; export default used;',
  };
  assert.deepEqual(never(sources), ['cli/a.ts unused', 'cli/a.ts Hidden', 'cli/a.ts default']);
});

test('a module that nobody imports is an entry, and its exports are not judged', () => {
  assert.deepEqual(never({ 'cli/main.ts': 'export const run = 1;' }), []);
});

test('an export that is exported again, or of a module that is imported whole, is used', () => {
  const sources = {
    'cli/main.ts': "export { a } from './a.ts'; export * from './b.ts'; import * as c from './c.ts'; c.d;",
    'cli/a.ts': 'export const a = 1;',
    'cli/b.ts': 'export const b = 1;',
    'cli/c.ts': 'export const d = 1, e = 2;',
  };
  assert.deepEqual(never(sources), []);
});

test('an import of a computed path uses the names it takes from every module below its folder', () => {
  const sources = {
    'cli/main.ts': 'const { run } = await import(`./tasks/${name}.ts`);',
    'cli/tasks/pack.ts': 'export const run = 1, pack = 2;',
    'cli/tasks/lock.ts': "import './pack.ts';",
    'core/run.ts': 'export const run = 1;',
    'core/main.ts': "import './run.ts';",
  };
  assert.deepEqual(never(sources), ['cli/tasks/pack.ts pack', 'core/run.ts run']);
});

test('the exports of a module that is for others are not judged', () => {
  const sources = {
    'packages/worker/index.ts': 'export const app = 1;',
    'packages/worker/drizzle.ts': "import './index.ts';",
  };
  assert.deepEqual(never(sources, ['packages/worker/index.ts']), []);
});

test('two imports between the same folders are one arrow, and one inside a folder is none', () => {
  const sources = {
    'cli/a.ts': "import '../core/a.ts'; import './b.ts';",
    'cli/b.ts': "import type { B } from '#core/b.ts';",
    'core/a.ts': "void import('#cli/a.ts');",
  };
  assert.deepEqual(arrowsBetween(arrows(sources), path.posix.dirname), ['cli -> core', 'core -> cli']);
});

test('each group of modules that import each other is one cycle, named by its shortest circle', () => {
  const edges = ['a -> b', 'b -> c', 'c -> a', 'b -> a', 'c -> d', 'd -> e', 'f -> g', 'g -> f', 'h -> h'];
  const cycles = importCycles(
    edges.map((edge) => {
      const [from, to] = edge.split(' -> ') as [string, string];
      return { from, to };
    }),
  );
  assert.deepEqual(cycles, [
    ['a', 'b', 'a'],
    ['f', 'g', 'f'],
    ['h', 'h'],
  ]);
});

test('a module that does not parse is named', () => {
  assert.throws(() => readModules({ 'cli/a.ts': 'const = ;' }), /^SyntaxError: cli\/a\.ts: /);
});

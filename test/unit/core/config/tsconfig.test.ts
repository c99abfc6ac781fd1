// tsconfig.json sees env.d.ts, and everything else in it stays as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'jsonc-parser';
import { addToTsconfig, tsconfigLinks } from '#core/config/tsconfig.ts';

function edit(text: string | null, environmentFile = 'env.d.ts'): string {
  const edited = addToTsconfig(text, { environmentFile, file: 'tsconfig.json' });
  assert.ok('text' in edited, JSON.stringify(edited));
  assert.equal(edited.changed, edited.text !== text);
  return edited.text;
}

test('a project without tsconfig.json gets one that includes env.d.ts and the types', () => {
  const made = JSON.parse(edit(null, 'types/env.d.ts')) as {
    include: string[];
    compilerOptions: { types: string[]; lib: string[] };
  };
  assert.deepEqual(made.include, ['src', 'types/env.d.ts']);
  assert.deepEqual(made.compilerOptions.types, ['@platform-run/types']);
  assert.deepEqual(made.compilerOptions.lib, ['es2024']);
});

/** Text before -> text after. */
const edits: readonly (readonly [string, string])[] = [
  ['{"include":["src"]}', '{"include":["src", "env.d.ts"]}'],
  ['{"include":["a","b"]}', '{"include":["a","b","env.d.ts"]}'],
  ['{"include":["a", "b"]}', '{"include":["a", "b", "env.d.ts"]}'],
  ['{"files":["a.ts"]}', '{"files":["a.ts", "env.d.ts"]}'],
  ['{"include":["src"],"files":["env.d.ts"]}', '{"include":["src"],"files":["env.d.ts"]}'],
  [
    '{\n  // mine\n  "include": [\n    "src" // code\n  ], /* end */\n}\n',
    '{\n  // mine\n  "include": [\n    "src",\n    "env.d.ts" // code\n  ], /* end */\n}\n',
  ],
  [
    '{\n\t"include": [\n\t\t"src",\n\t\t"test",\n\t],\n}',
    '{\n\t"include": [\n\t\t"src",\n\t\t"test",\n\t\t"env.d.ts",\n\t],\n}',
  ],
  [
    '\ufeff{\r\n    "include": [\r\n        "src"\r\n    ]\r\n}\r\n',
    '\ufeff{\r\n    "include": [\r\n        "src",\r\n        "env.d.ts"\r\n    ]\r\n}\r\n',
  ],
  ['{"compilerOptions":{"types":["node"]}}', '{"compilerOptions":{"types":["node", "@platform-run/types"]}}'],
  [
    '{"compilerOptions":{"types":["@platform-run/types"]},"include":["env.d.ts"]}',
    '{"compilerOptions":{"types":["@platform-run/types"]},"include":["env.d.ts"]}',
  ],
  [
    '{"compilerOptions":{"types":["node"]},"include":["src"]}',
    '{"compilerOptions":{"types":["node", "@platform-run/types"]},"include":["src", "env.d.ts"]}',
  ],
  [
    '{"include":["src"],"compilerOptions":{"types":["node"]}}',
    '{"include":["src", "env.d.ts"],"compilerOptions":{"types":["node", "@platform-run/types"]}}',
  ],
  ['{}', '{}'],
  ['{"compilerOptions":{"strict":true}}', '{"compilerOptions":{"strict":true}}'],
  ['{"extends":"./base.json","include":"src"}', '{"extends":"./base.json","include":"src"}'],
  ['{"include":["src"],"include":["lib"]}', '{"include":["src"],"include":["lib", "env.d.ts"]}'],
];

for (const [before, after] of edits) {
  test(`${JSON.stringify(before)} becomes ${before === after ? 'the same' : JSON.stringify(after)}`, () => {
    assert.equal(edit(before), after);
    assert.equal(edit(after), after);
  });
}

test('an empty list is filled with the indentation of the file', () => {
  for (const before of [
    '{"include":[]}',
    '{\n    "include": []\n}',
    '{\r\n\t"compilerOptions": {\r\n\t\t"types": []\r\n\t},\r\n\t"include": [ ]\r\n}',
  ]) {
    const value = parse(edit(before)) as { include: string[]; compilerOptions?: { types: string[] } };
    assert.deepEqual(value.include, ['env.d.ts']);
    if (value.compilerOptions) assert.deepEqual(value.compilerOptions.types, ['@platform-run/types']);
    assert.equal(edit(before).includes('\r'), before.includes('\r'));
    assert.doesNotMatch(edit(before), /[^\r]\n.*\r\n/);
  }
});

test('a pattern that covers the file makes an entry needless, one that does not, does not', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['env.d.ts', 'env.d.ts', true],
    ['./env.d.ts', 'env.d.ts', true],
    ['.', 'env.d.ts', true],
    ['./', 'env.d.ts', true],
    ['**/*', 'a/env.d.ts', true],
    ['src', 'src/env.d.ts', true],
    ['src/', 'src/env.d.ts', true],
    ['src/**/*', 'src/deep/env.d.ts', true],
    ['src/**', 'src/env.d.ts', true],
    ['*.d.ts', 'env.d.ts', true],
    ['*.ts', 'env.d.ts', true],
    ['**/*.ts', 'src/env.d.ts', true],
    ['*.ts', 'src/env.d.ts', false],
    ['src', 'env.d.ts', false],
    ['source', 'src/env.d.ts', false],
    ['src/*.tsx', 'src/env.d.ts', false],
  ];
  for (const [pattern, file, isCovered] of cases) {
    const before = JSON.stringify({ include: [pattern] });
    assert.equal(edit(before, file) === before, isCovered, `${pattern} ${file}`);
  }
});

test('a broken tsconfig.json is left alone, and the place of the error is told', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{\n  "include": [\n', '3:1 Invalid JSON: CloseBracketExpected'],
    ['{"a" 1}', '1:6 Invalid JSON: ColonExpected'],
    ['', '1:1 Invalid JSON: ValueExpected'],
    ['[]', '1:1 The file must be an object'],
    ['"text"', '1:1 The file must be an object'],
  ];
  for (const [text, expected] of cases) {
    const edited = addToTsconfig(text, { environmentFile: 'env.d.ts', file: 'tsconfig.json' });
    assert.ok('problem' in edited, text);
    assert.equal(`${edited.problem.line}:${edited.problem.column} ${edited.problem.message}`, expected);
    assert.equal(edited.problem.file, 'tsconfig.json');
  }
});

test('files that a tsconfig.json names by path are found, with their place; packages are not', () => {
  const text = `\ufeff{ // comment
  "extends": ["../base.json", "@tsconfig/node24", "/etc/x"],
  "references": [{ "path": "lib" }, { "path": 5 }, null],
}`;
  assert.deepEqual(tsconfigLinks(text), [
    { path: 'lib', line: 3, column: 28 },
    { path: '../base.json', line: 2, column: 15 },
    { path: '/etc/x', line: 2, column: 51 },
  ]);
  for (const nothing of ['', '[]', 'null', '{', '{"extends":{}}', '{"extends":"pkg/x.json","references":{}}'])
    assert.deepEqual(tsconfigLinks(nothing), []);
});

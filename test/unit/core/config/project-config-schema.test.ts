// The definition of platform.yaml against its three uses: the published JSON Schema, the parser, and the rules of
// names.ts.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Check } from 'typebox/schema';
import { isBindingName, isProjectName, isResourceName } from '#core/names.ts';
import { projectConfigSchema, projectFileSchema } from '#core/config/project-config-schema.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

const committed = new URL('../../../../docs/platform.schema.json', import.meta.url);

test('docs/platform.schema.json is what the definition generates (write it with UPDATE=1, then format it)', async () => {
  const generated = JSON.stringify(projectConfigSchema());
  if (process.env['UPDATE'] === '1') await writeFile(committed, generated);
  // White space is the formatter's.
  assert.equal(JSON.stringify(JSON.parse(await readFile(committed, 'utf8'))), generated);
});

test('the published schema holds no keyword of our own', () => {
  assert.doesNotMatch(JSON.stringify(projectConfigSchema()), /"expects/);
});

const values: readonly (readonly [string, unknown])[] = [
  ['{}', {}],
  ['kind: static', { kind: 'static' }],
  ['kind: static\nbuild: make', { kind: 'static', build: 'make' }],
  ['kind: worker', { kind: 'worker' }],
  ['kind: other', { kind: 'other' }],
  ['dev: { port: 80 }', { dev: { port: 80 } }],
  ['dev: { port: 0 }', { dev: { port: 0 } }],
  ['dev: { port: 1.5 }', { dev: { port: 1.5 } }],
  ['dev: { ports: 1 }', { dev: { ports: 1 } }],
  ['db: { DB: users }', { db: { DB: 'users' } }],
  ['db: { db: users }', { db: { db: 'users' } }],
  ['db: { DB: Users }', { db: { DB: 'Users' } }],
  ['auth: { }', { auth: {} }],
  ['auth: { binding: PLATFORM_AUTH }', { auth: { binding: 'PLATFORM_AUTH' } }],
  ['assets: { run_worker_first: true }', { assets: { run_worker_first: true } }],
  ['assets: { run_worker_first: [/a, "!/b"] }', { assets: { run_worker_first: ['/a', '!/b'] } }],
  ['assets: { run_worker_first: [a] }', { assets: { run_worker_first: ['a'] } }],
  ['assets: { run_worker_first: 1 }', { assets: { run_worker_first: 1 } }],
  ['cron: { A: "* * * * *" }', { cron: { A: '* * * * *' } }],
  ['cron: { A: { schedule: "* * * * *" } }', { cron: { A: { schedule: '* * * * *' } } }],
  ['cron: { A: { timezone: UTC } }', { cron: { A: { timezone: 'UTC' } } }],
  ['cron: { A: 1 }', { cron: { A: 1 } }],
  ['previews: { db: empty, queue: off }', { previews: { db: 'empty', queue: 'off' } }],
  ['previews: { db: none }', { previews: { db: 'none' } }],
  ['previews: { cron: true }', { previews: { cron: true } }],
  ['previews: { state: copy }', { previews: { state: 'copy' } }],
  ['release: {}', { release: {} }],
  [
    'release: { steps: [5, 100], minutes: 1, errors: 1%, p99: 1.5x }',
    { release: { steps: [5, 100], minutes: 1, errors: '1%', p99: '1.5x' } },
  ],
  ['release: { steps: [0] }', { release: { steps: [0] } }],
  ['release: { minutes: 241 }', { release: { minutes: 241 } }],
  ['release: { errors: 1 }', { release: { errors: 1 } }],
  ['release: { p99: 1.5 }', { release: { p99: 1.5 } }],
  ['release: { step: [100] }', { release: { step: [100] } }],
  ['compatibility_flags: [nodejs_compat]', { compatibility_flags: ['nodejs_compat'] }],
  ['compatibility_flags: [1]', { compatibility_flags: [1] }],
  ['other: 1', { other: 1 }],
  ['ai: true', { ai: true }],
  ['ai: "true"', { ai: 'true' }],
];

test('an independent validator of the published schema agrees with the parser', () => {
  const schema = projectConfigSchema();
  for (const [text, value] of values) {
    const parsed = parseProjectConfig(text, { file: 'platform.yaml' }).config !== null;
    assert.equal(Check(schema, value), parsed, text);
  }
});

test('the patterns of names are those of names.ts', () => {
  const { properties } = projectFileSchema;
  const binding = new RegExp(Object.keys(properties.db.patternProperties)[0]!);
  const resource = new RegExp(Object.values(properties.db.patternProperties)[0]!.pattern);
  const project = new RegExp(properties.name.pattern);
  const names = [
    '',
    'a',
    'A',
    '_',
    '1',
    'a1',
    'A1',
    'a_b',
    'A_B',
    'a-b',
    'a--b',
    '-a',
    'a-',
    'ä',
    'a b',
    'A\n',
    'a\n',
    '1a',
    'DB',
    'dbOne',
    'vars',
    'varsOne',
    'constructor',
    'toString',
  ];
  // Each member of every object is reserved.
  for (const name of Object.getOwnPropertyNames(Object.prototype)) assert.equal(isBindingName(name), false, name);
  for (const name of [
    ...names,
    ...[39, 40, 41, 63, 64, 65].flatMap((length) => ['a'.repeat(length), 'A'.repeat(length)]),
  ]) {
    assert.equal(binding.test(name), isBindingName(name), `binding ${JSON.stringify(name)}`);
    assert.equal(resource.test(name), isResourceName(name), `resource ${JSON.stringify(name)}`);
    assert.equal(project.test(name), isProjectName(name), `project ${JSON.stringify(name)}`);
  }
});

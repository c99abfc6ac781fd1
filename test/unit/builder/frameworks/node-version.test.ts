// Which Node a project asks for, and which of those of an image it gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseNode, nodeRequestOf } from '#builder/frameworks/node-version.ts';

const IMAGE = [{ version: '24.21.0' }, { version: '22.23.3' }];

const asked = (files: Readonly<Record<string, string>>) => nodeRequestOf(async (name) => files[name] ?? null);

test('.nvmrc counts before .node-version, and that before engines of package.json', async () => {
  const manifest = JSON.stringify({ engines: { node: ' >=20 ' } });
  const all = { '.nvmrc': '# of the team\n v22.3.0 # for now\n', '.node-version': '24', 'package.json': manifest };
  assert.deepEqual(await asked(all), { text: 'v22.3.0', from: '.nvmrc' });
  assert.deepEqual(await asked({ ...all, '.nvmrc': '\n' }), { text: '24', from: '.node-version' });
  assert.deepEqual(await asked({ 'package.json': manifest }), { text: '>=20', from: 'engines of package.json' });
  for (const text of ['{}', '{', '{"engines": 1}', '{"engines": {"node": 22}}', '{"engines": {"node": " "}}'])
    assert.equal(await asked({ 'package.json': text }), null);
  assert.equal(await asked({}), null);
});

test('the newest version that fits is taken', () => {
  const expected: Readonly<Record<string, string | null>> = {
    22: '22.23.3',
    v22: '22.23.3',
    '22.x': '22.23.3',
    '22.23.3': '22.23.3',
    '=22.23.3': '22.23.3',
    '^22.12.0': '22.23.3',
    '~22.23': '22.23.3',
    '~22.23.4': null,
    '>=20': '24.21.0',
    '>= 20 < 24': '22.23.3',
    '>=20 <=22': '22.23.3',
    '>22': '24.21.0',
    '>22.23.2 <23': '22.23.3',
    '18 - 22': '22.23.3',
    '^18 || ^20 || >=22': '24.21.0',
    '^18.18.0 || ^20.9.0': null,
    'lts/*': '24.21.0',
    'lts/jod': '22.23.3',
    'lts/iron': null,
    node: '24.21.0',
    '*': '24.21.0',
    26: null,
  };
  for (const [text, version] of Object.entries(expected))
    assert.equal(chooseNode(text, IMAGE).node?.version ?? null, version, text);
});

test('for a version that is not there the newest of its major is near', () => {
  assert.deepEqual(chooseNode('v22.11.0', IMAGE), { node: { version: '22.23.3' }, isNear: true });
  assert.deepEqual(chooseNode('22.99.0', IMAGE), { node: { version: '22.23.3' }, isNear: true });
  assert.deepEqual(chooseNode('20.11.0', IMAGE), { node: null, isNear: false });
});

test('what cannot be read fits nothing, and takes no time', () => {
  const hostile = ['system', '$(id)', '22; rm', '1.2.3.4', 'lts/none', `${'>=1 '.repeat(30)}`, ' - '.repeat(33)];
  for (const text of [...hostile, '9'.repeat(1000), '>'.repeat(100_000)])
    assert.deepEqual(chooseNode(text, IMAGE), { node: null, isNear: false }, text.slice(0, 40));
});

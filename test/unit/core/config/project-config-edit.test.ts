// agentSDK: true gets into a platform.yaml and nothing else in it changes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { setAgentSdk } from '#core/config/project-config-edit.ts';

/** Text before -> text after. */
const edits: readonly (readonly [string, string])[] = [
  ['', 'agentSDK: true\n'],
  ['# mine\n', '# mine\nagentSDK: true\n'],
  ['kind: worker # mine\n\n# end\n', 'kind: worker # mine\n\n# end\nagentSDK: true\n'],
  ['kind: worker', 'kind: worker\nagentSDK: true\n'],
  ['\ufeffkind: worker\r\n', '\ufeffkind: worker\r\nagentSDK: true\r\n'],
  ['---\nkind: worker\n', '---\nkind: worker\nagentSDK: true\n'],
  ['  kind: worker\n  ai: true\n', '  kind: worker\n  ai: true\n  agentSDK: true\n'],
  ['agentSDK: false # why\nkind: worker\n', 'agentSDK: true # why\nkind: worker\n'],
  ['agentSDK: true\n', 'agentSDK: true\n'],
  ['build: |\n  make\n  all\n', 'build: |\n  make\n  all\nagentSDK: true\n'],
  ['db:\n    DB: users\n', 'db:\n    DB: users\nagentSDK: true\n'],
  ['{ kind: worker } # c\n', '{ kind: worker, agentSDK: true } # c\n'],
  ['{kind: worker, agentSDK: false}', '{kind: worker, agentSDK: true}'],
];

for (const [before, after] of edits) {
  test(`${JSON.stringify(before)} becomes ${JSON.stringify(after)}`, () => {
    assert.equal(setAgentSdk(before), after);
    assert.equal(setAgentSdk(after), after);
    assert.equal(parseProjectConfig(after, { file: 'platform.yaml' }).config?.agentSdk, true);
  });
}

test('a document with an end mark, an empty value or a null root is still valid afterwards', () => {
  for (const before of [
    'kind: worker\n...\n',
    'agentSDK:\nkind: worker\n',
    '~\n',
    'null # c\n',
    '%YAML 1.2\n---\nkind: worker\n',
  ]) {
    const after = setAgentSdk(before);
    assert.equal(parseProjectConfig(after, { file: 'platform.yaml' }).config?.agentSdk, true, JSON.stringify(after));
  }
});

test('text that is no map is refused', () => {
  for (const text of ['- a', 'text', 'kind: [', 'a: 1\n---\nb: 2'])
    assert.throws(() => setAgentSdk(text), /not a YAML map/);
});

// Variables that are no settings any more: each is said with the value that holds, and none is among the settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removedSettings, removedVariables } from '#core/removed-variables.ts';
import { limitVariables } from '#core/limits.ts';
import { rowsOf, variableGroups } from '#cli/tasks/variables.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { readSources } from '#cli/tasks/tools/sources.ts';

test('one that is set is said with its value, one that is empty is not', () => {
  assert.deepEqual(
    removedSettings({
      DB_MAX_BATCH_STATEMENTS: '10',
      WORKFLOW_STEPS_MAX: '1024',
      AI_MODELS_MAX: '',
      WORKER_MEMORY_MB: '64',
    }),
    [
      'DB_MAX_BATCH_STATEMENTS is no longer a setting: its value is 1000',
      'WORKFLOW_STEPS_MAX is no longer a setting: its value is 1024',
    ],
  );
});

test('none of them is a setting', () => {
  const settings = new Set([
    ...limitVariables,
    ...variableGroups.flatMap((group) => rowsOf(group).map(([name]) => name)),
  ]);
  assert.deepEqual(
    removedVariables.filter((name) => settings.has(name)),
    [],
  );
});

test('no page and no message names one', () => {
  // The platform itself sets it for its listener.
  const names = removedVariables.filter((name) => name !== 'UWS_HTTP_MAX_HEADERS_SIZE');
  const naming = new RegExp(`\\b(?:${names.join('|')})\\b`, 'g');
  const found = Object.entries(readSources(root))
    .filter(([file]) => !/^(?:test\/|CHANGELOG\.md|core\/removed-variables\.ts|containers\/settings\.yaml)/.test(file))
    .flatMap(([file, text]) => (text.match(naming) ?? []).map((name) => `${name} (${file})`));
  assert.deepEqual(found, [], 'say the value of the limit instead');
});

// What `platform start` says of its variables before it changes anything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSettings } from '#cli/start/check-settings.ts';
import { quiet } from '#operations/upgrade/trial.ts';
import { recordingShell } from '../recording-shell.ts';

const check = (env: Readonly<Record<string, string>>) => (): void => checkSettings(recordingShell('/', env));

test('a variable that is wrong is named with its value and what it takes', () => {
  assert.throws(check({ API_PORT: 'many' }), {
    message: 'API_PORT must be a whole number from 0 to 65535, but is "many"',
  });
  assert.throws(check({ HANDLER_SPARES: 'off' }), {
    message: 'HANDLER_SPARES must be a whole number from 0 to 16, but is "off"',
  });
});

test('no API, and what an upgrade tries a version with, is taken', () => {
  assert.doesNotThrow(check({ API_PORT: 'off' }));
  assert.doesNotThrow(check(quiet));
});

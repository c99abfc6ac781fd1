// The file of logins: its mode, what is in it, and what is not taken for one.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { credentialsFile, readLogins, removeLogin, saveLogin } from '#cli/account/credentials.ts';
import { recordingShell } from '../recording-shell.ts';

const ada = { token: 'plt_ada', login: 'ada', expiresAt: null };
const bob = { token: 'plt_bob', login: 'bob', expiresAt: '2027-01-01T00:00:00.000Z' };

function home(t: { after(done: () => void): void }): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-home-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'user');
}

test('a login is kept for its user alone, and the last one is the current', (t) => {
  const folder = home(t);
  const shell = recordingShell('/', { PLATFORM_HOME: folder });
  assert.deepEqual(readLogins(shell), { current: null, platforms: {} });
  saveLogin(shell, 'https://one.example', ada);
  saveLogin(shell, 'https://two.example', bob);
  const file = credentialsFile(shell);
  assert.equal(file, path.join(folder, 'config.json'));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(folder), ['config.json']);
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
    version: 1,
    current: 'https://two.example',
    platforms: { 'https://one.example': ada, 'https://two.example': bob },
  });
});

test('a file that others may read is closed to them', (t) => {
  const shell = recordingShell('/', { PLATFORM_HOME: home(t) });
  saveLogin(shell, 'https://one.example', ada);
  chmodSync(credentialsFile(shell), 0o644);
  assert.equal(readLogins(shell).current, 'https://one.example');
  assert.equal(statSync(credentialsFile(shell)).mode & 0o777, 0o600);
});

test('a logout takes one login away, and the file with the last', (t) => {
  const shell = recordingShell('/', { PLATFORM_HOME: home(t) });
  saveLogin(shell, 'https://one.example', ada);
  saveLogin(shell, 'https://two.example', bob);
  assert.equal(removeLogin(shell, 'https://two.example'), 'plt_bob');
  assert.equal(readLogins(shell).current, 'https://one.example');
  assert.equal(removeLogin(shell, 'https://two.example'), null);
  assert.equal(removeLogin(shell, 'https://one.example'), 'plt_ada');
  assert.equal(existsSync(credentialsFile(shell)), false);
});

test('a file that holds something else is refused with what to do', (t) => {
  const shell = recordingShell('/', { PLATFORM_HOME: home(t) });
  saveLogin(shell, 'https://one.example', ada);
  for (const text of [
    '',
    '[]',
    '{"version":2,"platforms":{}}',
    '{"version":1,"platforms":{"a":{"token":1}}}',
    'null',
  ]) {
    writeFileSync(credentialsFile(shell), text);
    assert.throws(() => readLogins(shell), /has an unsupported format/);
  }
});

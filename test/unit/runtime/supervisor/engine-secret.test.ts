import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { engineSecret } from '#runtime/supervisor/engine-secret.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-secret-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'secret');

test('without AUTH_SECRET one is made, kept, and readable for its owner only', () => {
  const secret = engineSecret({}, folder);
  assert.match(secret, /^[0-9a-f]{64}$/);
  assert.equal(engineSecret({}, folder), secret);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a file that a crash left empty is no secret: it is made anew', () => {
  writeFileSync(file, '');
  const secret = engineSecret({}, folder);
  assert.equal(readFileSync(file).byteLength, 32);
  assert.equal(engineSecret({}, folder), secret);
});

test('an AUTH_SECRET that is too short is refused without saying it', () => {
  assert.throws(() => engineSecret({ AUTH_SECRET: 'hunter2' }, folder), /^Error: AUTH_SECRET must have at least 16 characters: [^h]/);
});

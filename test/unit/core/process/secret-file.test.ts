// A secret in a file. Two that start together: engine-secret.test.ts.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hexSecretIn, secretIn } from '#core/process/secret-file.ts';

test('a secret is whole, the same after a restart, and made anew where its file is cut short', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'signing-key');
  const key = (): string => secretIn(file).toString('hex');
  const first = key();
  assert.match(first, /^[0-9a-f]{64}$/);
  assert.equal(key(), first);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const cut of ['', 'short']) {
    writeFileSync(file, cut);
    const next = key();
    assert.match(next, /^[0-9a-f]{64}$/);
    assert.notEqual(next, first);
    assert.equal(readFileSync(file).toString('hex'), next);
  }
  assert.deepEqual(readdirSync(folder), ['signing-key']);
});

test('a token is text of one line, for its owner alone, and the same after a restart', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'token');
  const token = hexSecretIn(file);
  assert.match(token, /^[0-9a-f]{64}$/);
  assert.deepEqual([hexSecretIn(file), readFileSync(file, 'utf8')], [token, `${token}\n`]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  writeFileSync(file, token.slice(1));
  assert.notEqual(hexSecretIn(file), token);
});

// The stores of `platform dev`: what lies beside their files.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLocalStores } from '#runtime/stores/local-stores.ts';

test('the key that signs addresses is whole, the same after a restart, and made anew where its file is cut short', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const key = (): string => {
    const local = openLocalStores(folder);
    local.close();
    return Buffer.from(local.signingKey).toString('hex');
  };
  const first = key();
  assert.match(first, /^[0-9a-f]{64}$/);
  assert.equal(key(), first);
  const file = join(folder, 'signing-key');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const cut of ['', 'short']) {
    writeFileSync(file, cut);
    const next = key();
    assert.match(next, /^[0-9a-f]{64}$/);
    assert.notEqual(next, first);
    assert.equal(readFileSync(file).toString('hex'), next);
  }
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('signing-key')),
    ['signing-key'],
  );
});

// What a builder stores belongs to whom the data folder belongs to: in containers it is root, and handlers are not.
import assert from 'node:assert/strict';
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { takeArtifact } from '#artifacts/store/take-artifact.ts';

test(
  'an artifact that root stores belongs to the owner of the data folder',
  { skip: process.getuid?.() !== 0 && 'it needs root' },
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'platform-store-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [data, made, id] = [path.join(folder, 'data'), path.join(folder, 'made'), 'a'.repeat(64)];
    mkdirSync(data);
    chownSync(data, 10_001, 10_001);
    mkdirSync(path.join(made, 'assets'), { recursive: true });
    writeFileSync(path.join(made, 'assets', 'page.html'), '<p>', { mode: 0o600 });
    await takeArtifact(data, id, made);
    const owners = ['artifacts', `artifacts/${id}`, `artifacts/${id}/assets/page.html`].map(
      (name) => statSync(path.join(data, name)).uid,
    );
    assert.deepEqual(owners, [10_001, 10_001, 10_001]);
  },
);

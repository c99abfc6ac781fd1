// The lock that dies with its holder.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { noteHolder, notedHolder, takeLock } from '#artifacts/file-lock.ts';

function lockFile(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'lock-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return path.join(folder, 'below', 'start');
}

test('a held lock is refused, also inside one process, until it is released', (t) => {
  const file = lockFile(t);
  const lock = takeLock(file);
  assert.ok(lock);
  assert.equal(takeLock(file), null);
  lock.release();
  const again = takeLock(file);
  assert.ok(again);
  again.release();
});

test('a holder that is killed leaves no lock behind', async (t) => {
  const file = lockFile(t);
  const code = `const { takeLock } = await import(${JSON.stringify(import.meta.resolve('#artifacts/file-lock.ts'))});
    globalThis.lock = takeLock(${JSON.stringify(file)}); process.stdout.write(lock ? 'held' : 'refused'); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  assert.equal(said.toString(), 'held');
  assert.equal(takeLock(file), null);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = takeLock(file);
  assert.ok(lock);
  lock.release();
});

test('the holder is noted beside the lock', (t) => {
  const file = lockFile(t);
  takeLock(file)?.release();
  assert.equal(notedHolder(file), null);
  noteHolder(file, 1234);
  assert.equal(notedHolder(file), 1234);
});

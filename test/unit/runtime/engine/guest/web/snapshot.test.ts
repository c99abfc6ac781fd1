import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const script = join(import.meta.dirname, '../../../../../setup/web-snapshot.ts');

test('the web APIs fit a V8 snapshot of bounded size and work in an isolate made from it', async (context) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-node-snapshot', '--no-warnings', script]);
  const { answer, highestCharacter, snapshotKilobytes, isolateMs } = JSON.parse(stdout) as {
    answer: string;
    highestCharacter: number;
    snapshotKilobytes: number;
    isolateMs: number;
  };
  context.diagnostic(`snapshot ${snapshotKilobytes} KB, isolate and context ${isolateMs} ms`);
  assert.equal(answer, '200 1 https://a.test/b?c=d x');
  // One character beyond Latin-1 makes V8 keep two bytes for each of the source's.
  assert.ok(highestCharacter <= 0xff);
  assert.ok(snapshotKilobytes < 850, `${snapshotKilobytes} KB`);
});

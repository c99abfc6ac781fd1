import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { engineSecret } from '#runtime/supervisor/engines/engine-secret.ts';
import { fuzzRounds } from '#test/setup/seeded-random.ts';

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

test('two that start on a folder that is not there yet have the same one', async () => {
  // Both wait for the other before each folder, so that they come to it together: the first time without work, since
  // one may start long after the other.
  const code = `const { workerData: { module, folder, rounds, meeting }, parentPort } = require('node:worker_threads');
    import(module).then(({ engineSecret }) => {
      const secrets = [];
      for (let round = 0; round < rounds; round++) {
        if (Atomics.add(meeting, round, 1) === 1) Atomics.notify(meeting, round);
        else if (round === 0) Atomics.wait(meeting, round, 1);
        while (Atomics.load(meeting, round) < 2);
        secrets.push(engineSecret({}, folder + '/' + round));
      }
      parentPort.postMessage(secrets);
    });`;
  const rounds = fuzzRounds(20);
  const meeting = new Int32Array(new SharedArrayBuffer(4 * rounds));
  const module = import.meta.resolve('#runtime/supervisor/engines/engine-secret.ts');
  const starter = async (): Promise<string[]> => {
    const worker = new Worker(code, {
      eval: true,
      workerData: { module, folder: join(folder, 'fresh'), rounds, meeting },
    });
    return ((await once(worker, 'message')) as [string[]])[0];
  };
  const [one, other] = await Promise.all([starter(), starter()]);
  assert.deepEqual(one, other);
  assert.equal(new Set(one).size, rounds);
  assert.deepEqual(readdirSync(join(folder, 'fresh/0')), ['secret']);
});

test('an AUTH_SECRET that is too short is refused without saying it', () => {
  assert.throws(
    () => engineSecret({ AUTH_SECRET: 'hunter2' }, folder),
    /^Error: AUTH_SECRET is weak: it needs at least 32 random characters; make one with `openssl rand -hex 32`$/,
  );
});

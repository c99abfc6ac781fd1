import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readProcesses } from '#core/process/confinement/process-table.ts';
import { ALL, buildIn, openBuildPlace, possibleWays, workerWith } from '#test/setup/confined-builds.ts';
import { residentBytes } from '#test/setup/resident-bytes.ts';

const MB = 1024 * 1024;

/** What a command wrote last. */
let last = '';

for (const { name, confinement, isWhole } of await possibleWays())
  describe(`a build command, confined by ${name}`, () => {
    test('sees nothing of the platform: environment, processes, folders', async (t) => {
      process.env['PLATFORM_TEST_SECRET'] = 'do-not-tell';
      const place = openBuildPlace(t);
      writeFileSync(join(place.privateFolder, 'key'), 'private-key');
      const neighbour = join(place.folder, 'work', 'neighbour');
      mkdirSync(join(neighbour, 'source'), { recursive: true, mode: 0o700 });
      writeFileSync(join(neighbour, 'source', 'secret'), 'of-the-neighbour');
      place.commit(
        workerWith(`
          env
          cat /proc/${process.pid}/environ /proc/$PPID/environ /proc/1/environ 2>&1 | tr '\\0' '\\n'
          for file in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $file; done 2>/dev/null
          cat ${place.privateFolder}/key ${neighbour}/source/secret ${place.cache}/x ${place.artifacts}/x
          ls ${place.privateFolder} ${neighbour} ${place.artifacts} ${place.cache}
          cat ${homedir()}/.npmrc ${homedir()}/.ssh/* /etc/shadow
          echo "as $(id -u)"
          exit 0
        `),
      );
      const { result, log } = await buildIn(place, confinement, { variables: { GREETING: 'hello-to-you' } });
      delete process.env['PLATFORM_TEST_SECRET'];
      assert.equal(result?.kind, 'dynamic', log);
      assert.match(log, /GREETING=hello-to-you/);
      assert.match(log, /PLATFORM_BRANCH=main/);
      assert.match(log, /PLATFORM_COMMIT=[0-9a-f]{40}/);
      assert.doesNotMatch(log, /do-not-tell|of-the-neighbour|private-key|root:[*!$]/);
      if (confinement.firstUid != null) assert.doesNotMatch(log, /^as 0$/m);
    });

    test('leaves a daemon behind, which is gone before the artifact is taken', async (t) => {
      const place = openBuildPlace(t);
      place.commit(workerWith('setsid sh -c "trap : TERM HUP; exec sleep 7541" & disown 2>/dev/null; exit 0'));
      const { result, log } = await buildIn(place, confinement);
      assert.equal(result?.kind, 'dynamic', log);
      assert.deepEqual(await sleepers('7541'), []);
    });

    if (!isWhole) return;

    test('kills nothing but itself', async (t) => {
      const place = openBuildPlace(t);
      place.commit(workerWith(`kill -9 ${process.pid} $PPID 1; kill -9 -1; echo still here`));
      const { failure } = await buildIn(place, confinement);
      // Everything of the build is gone, its own parent too; this process is not.
      assert.equal(failure?.reason, 'build_failed');
      place.commit(workerWith('echo next; true'));
      assert.equal((await buildIn(place, confinement)).result?.kind, 'dynamic');
    });

    test('hangs, and is ended with what it started', async (t) => {
      const place = openBuildPlace(t);
      place.commit(
        workerWith('setsid sleep 7531 & (sleep 7532 &) ; echo hanging; trap "" TERM INT; while :; do sleep 7533; done'),
      );
      const controller = new AbortController();
      const running = buildIn(place, confinement, {
        signal: controller.signal,
        onOutput: (_step, _level, chunk) => {
          if (Buffer.from(chunk).includes('hanging')) controller.abort(new Error('out of time'));
        },
      });
      await assert.rejects(running, { message: 'out of time' });
      assert.deepEqual(await sleepers('753'), []);
      assert.deepEqual(place.leftOver(), []);
    });

    test('forks without end', async (t) => {
      const place = openBuildPlace(t);
      place.commit(workerWith('while :; do sh -c "sleep 7551" & done'));
      const { failure } = await buildIn(place, confinement, { limits: { processesMax: 60 } });
      assert.ok(['too_many_processes', 'build_failed'].includes(failure?.reason ?? ''), failure?.message);
      assert.deepEqual(await sleepers('7551'), []);
    });

    test('takes memory without end', async (t) => {
      const place = openBuildPlace(t);
      place.commit(workerWith('const kept = []; for (;;) kept.push(Buffer.alloc(8e6, 1));', 'hostile.mjs'));
      const { failure } = await buildIn(place, confinement, { limits: { memoryMbMax: 300 } });
      assert.equal(failure?.reason, 'out_of_memory', failure?.message);
      assert.match(failure.message, /more than 300 MB/);
    });

    test('fills the disk', async (t) => {
      const place = openBuildPlace(t);
      place.commit(
        workerWith('i=0; while :; do head -c 4000000 /dev/zero > f$i || exit 3; i=$((i+1)); sleep 0.02; done'),
      );
      const { failure } = await buildIn(place, confinement, { limits: { diskBytesMax: 60 * MB } });
      assert.equal(failure?.reason, 'disk_full', failure?.message);
      assert.deepEqual(place.leftOver(), []);
    });

    test('makes files without end', async (t) => {
      const place = openBuildPlace(t);
      place.commit(
        workerWith('i=0; while :; do mkdir d$i && (cd d$i && seq 500 | xargs touch) || exit 3; i=$((i+1)); done'),
      );
      const { failure } = await buildIn(place, confinement, { limits: { filesMax: 3000 } });
      assert.equal(failure?.reason, 'too_many_files', failure?.message);
      assert.match(
        failure.message,
        /^The build has made \d+ files and folders; 3000 are allowed at a time \(BUILD_FILES_MAX\)$/,
      );
      assert.deepEqual(place.leftOver(), []);
    });

    test('fills /tmp and /dev/shm', async (t) => {
      const place = openBuildPlace(t);
      place.commit(
        workerWith(
          'i=0; while [ $i -lt 40 ]; do head -c 2000000 /dev/zero > /tmp/of-a-build-$i; head -c 2000000 /dev/zero > /dev/shm/of-a-build-s$i; sleep 0.1; i=$((i+1)); done; sleep 60',
        ),
      );
      const { failure } = await buildIn(place, confinement, { limits: { diskBytesMax: 60 * MB } });
      assert.equal(failure?.reason, 'disk_full', failure?.message);
      assert.deepEqual(
        readdirSync('/tmp').filter((file) => file.startsWith('of-a-build-')),
        [],
      );
    });

    test('prints without end, which nobody keeps', async (t) => {
      const place = openBuildPlace(t);
      const printed = ALL ? 1_000_000_000 : 100_000_000;
      place.commit(workerWith(`head -c ${printed} /dev/zero | tr "\\0" "x"; echo; echo end`));
      const before = residentBytes(process.pid);
      const { result, bytes } = await buildIn(place, confinement);
      assert.equal(result?.kind, 'dynamic');
      assert.ok(bytes >= printed);
      const grown = residentBytes(process.pid) - before;
      assert.ok(grown < Math.max(90 * MB, printed / 4), `grew by ${grown}`);
    });

    test('prints faster than it is read, and waits', async (t) => {
      const place = openBuildPlace(t);
      // The parent of the command is the build's own process, which passes on what it reads.
      place.commit(workerWith('head -c 300000000 /dev/zero | tr "\\0" "x"; echo; grep VmHWM /proc/$PPID/status'));
      const { result, log } = await buildIn(place, confinement, {
        onOutput: (_step, _level, chunk) => {
          last = (last + Buffer.from(chunk).toString()).slice(-500);
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
        },
      });
      assert.equal(result?.kind, 'dynamic', log);
      const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(last) ?? [];
      assert.ok(Number(kilobytes) < 200_000, `it took ${kilobytes} kB`);
    });

    test('writes into the repository of the platform, or to another artifact', async (t) => {
      const place = openBuildPlace(t);
      mkdirSync(join(place.artifacts, 'of-another'), { mode: 0o700 });
      place.commit(
        workerWith(`echo x > ${join(place.artifacts, 'of-another', 'file')}; echo x > ${join(import.meta.dirname, 'x')};
          echo x > /usr/bin/x-of-a-build; rm -rf ${place.bare} ${place.cache}/*; exit 0`),
      );
      const { result } = await buildIn(place, confinement);
      assert.equal(result?.kind, 'dynamic');
      assert.deepEqual(readdirSync(join(place.artifacts, 'of-another')), []);
      assert.ok(readFileSync(join(place.bare, 'HEAD'), 'utf8').startsWith('ref:'));
    });
  });

/** Ids of processes `sleep <seconds>` with these first digits. */
async function sleepers(digits: string): Promise<number[]> {
  const found: number[] = [];
  for (const { id, isDead } of await readProcesses()) {
    if (isDead) continue;
    try {
      if (readFileSync(`/proc/${id}/cmdline`, 'latin1').startsWith(`sleep\0${digits}`)) found.push(id);
    } catch {
      // Gone meanwhile.
    }
  }
  return found;
}

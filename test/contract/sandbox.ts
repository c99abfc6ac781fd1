// What every backend of sandboxes has to do, method by method, over a real machine: sandbox-local.test.ts runs it, and
// each further backend by a file of its own in test/machines and test/sandbox.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { NO_OPTIONS, type SandboxOptions } from '#core/sandbox/options.ts';
import type { MachineSpec, SandboxBackend } from '#sandbox/backends/backend.ts';
import { askerOf, ownSeconds, findProcess, type Asker, type Started } from './sandbox-asker.ts';
import { testCommands } from './sandbox-commands.ts';
import { testFiles } from './sandbox-files.ts';
import { testOptions, type Offers } from './sandbox-options.ts';
import { testTerminals } from './sandbox-terminals.ts';

/** A backend, and what takes it away with all that it made. */
export interface BackendCase {
  readonly backend: SandboxBackend;
  close(): Promise<void>;
}

/** One whose machines are known for what they make of options. */
export interface OfferedCase extends BackendCase {
  readonly offers: Offers;
}

const FUZZ_SEED = 20_261_127;

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * @param streamedBytes of an output: by default, as much as shows that an answer does not hold it.
 * @param garbageRounds connections on which garbage comes.
 */
export function testSandboxBackend(
  name: string,
  open: () => Promise<OfferedCase>,
  {
    streamedBytes = 12_000_000,
    garbageRounds = 100,
  }: { readonly streamedBytes?: number; readonly garbageRounds?: number } = {},
): void {
  describe(`sandboxes of ${name}`, { concurrency: false }, () => {
    let opened: OfferedCase;
    let backend: SandboxBackend;
    let box: Asker;
    let key: string;
    let made = 0;
    const specOf = (name: string): MachineSpec => ({
      key: name,
      place: { project: 'shop', resource: 'boxes', id: name },
      options: NO_OPTIONS,
    });
    const newKey = (): string => `t${randomBytes(5).toString('hex')}${++made}`;

    /** A machine of its own for a test. */
    async function withMachine(
      act: (box: Asker, spec: MachineSpec) => Promise<void>,
      options: Partial<SandboxOptions> = {},
    ): Promise<void> {
      const spec = { ...specOf(newKey()), options: { ...NO_OPTIONS, ...options } };
      await backend.create(spec);
      try {
        await act(askerOf(backend, spec.key), spec);
      } finally {
        await backend.destroy(spec.key);
      }
    }

    before(async () => {
      opened = await open();
      ({ backend } = opened);
      key = newKey();
      await backend.create(specOf(key));
      box = askerOf(backend, key);
    });
    after(async () => {
      await opened.close();
    });

    testCommands(() => box, streamedBytes);
    testFiles(() => box);
    testTerminals(() => box);
    testOptions(() => opened, withMachine);

    it('answers whoever comes after garbage on its channel', async () => {
      const random = seeded(FUZZ_SEED);
      const starts = [
        '',
        'POST /exec HTTP/1.1\r\nhost: a\r\n',
        'POST /writeFile HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n',
      ];
      for (let round = 0; round < garbageRounds; round++) {
        const connection = await backend.connect(key);
        connection.on('error', () => {});
        const closed = new Promise((resolve) => void connection.once('close', resolve));
        const garbage = Uint8Array.from({ length: Math.floor(random() * 3000) }, () => Math.floor(random() * 256));
        connection.resume().end(Buffer.concat([Buffer.from(starts[round % 3]!), garbage]));
        if (random() < 0.5) connection.destroy();
        await closed;
      }
      assert.equal((await box.exec('echo well')).stdout, 'well\n');
    });

    describe('one that lives and ends', { concurrency: false }, () => {
      let spec: MachineSpec;
      let own: Asker;
      before(async () => {
        spec = specOf(newKey());
        await backend.create(spec);
        own = askerOf(backend, spec.key);
      });
      after(() => backend.destroy(spec.key));

      it('shares no file and no variable with another', async () => {
        await box.write('mine.txt', 'mine');
        assert.deepEqual(await own.ask('exists', { path: 'mine.txt' }), { exists: false });
        await box.ask('setEnvVars', { variables: { MINE: 'yes' } });
        assert.equal((await own.exec('echo [$MINE]')).stdout, '[]\n');
      });

      it('stands still while it is suspended, and goes on as it was', async () => {
        await own.ask('setEnvVars', { variables: { KEPT: 'yes' } });
        await own.ask('startProcess', { command: 'exec sleep 4716', processId: 'still' });
        await backend.suspend(spec.key);
        assert.equal(await backend.state(spec.key), 'suspended');
        await backend.resume(spec);
        assert.equal(await backend.state(spec.key), 'running');
        assert.equal((await own.exec('echo $KEPT')).stdout, 'yes\n');
        assert.equal((await own.ask<Started>('getProcess', { id: 'still' })).status, 'running');
      });

      it('keeps its files when it is stopped, and no process', async () => {
        await own.write('kept.txt', 'here');
        const sleep = `sleep ${ownSeconds(3)}`;
        await own.ask('startProcess', { command: `exec ${sleep}` });
        await backend.stop(spec.key);
        assert.equal(await backend.state(spec.key), 'stopped');
        await assert.rejects(async () => own.exec('true'), { code: 'sandbox_lost' });
        await backend.resume(spec);
        assert.equal(await own.read('kept.txt'), 'here');
        assert.deepEqual(await own.ask('listProcesses'), []);
        assert.equal((await own.exec(`${findProcess(sleep)} || echo none`)).stdout, 'none\n');
      });

      it('is gone when it is destroyed, and its name may be used again', async () => {
        assert.ok((await backend.keys()).includes(spec.key));
        await backend.destroy(spec.key);
        await backend.destroy(spec.key);
        assert.equal(await backend.state(spec.key), 'absent');
        assert.ok(!(await backend.keys()).includes(spec.key));
        await backend.create(spec);
        assert.deepEqual(await own.ask('exists', { path: 'kept.txt' }), { exists: false });
      });
    });
  });
}

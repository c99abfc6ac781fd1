// What a sandbox is made of, as far as a backend has it: part of the contract of backends (sandbox.ts).
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO_OPTIONS, type EgressChoice, type MachineSize, type SandboxOptions } from '#core/sandbox/options.ts';
import type { MachineSpec, SandboxBackend } from '#sandbox/backends/backend.ts';
import { askerOf, type Asker } from './sandbox-asker.ts';

/** What a backend makes of options. */
export interface Offers {
  /** How large a machine is, in words of the backend, and those expected; null: sizes do nothing. */
  readonly sizes: {
    of(box: Asker, key: string): Promise<string>;
    readonly expected: Readonly<Record<MachineSize | 'none', string>>;
    /** Those that there are not, with the reason. */
    readonly refused: Readonly<Partial<Record<MachineSize, RegExp>>>;
  } | null;
  /** Another image, and a file that it alone has; a pattern: the refusal; null: images do nothing. */
  readonly image: { readonly name: string; readonly mark: string } | RegExp | null;
  /** `narrows`, or the refusal; null: it does nothing. */
  readonly egress: 'narrows' | RegExp | null;
  /** Whether machines can be copied; a pattern: why not. */
  readonly copies: true | RegExp;
}

const ALLOW: EgressChoice = { mode: 'allow', allow: ['allowed.invalid', '*.below.invalid'] };

/** @param withMachine gives a machine of these options, and takes it away. */
export function testOptions(
  offered: () => { readonly backend: SandboxBackend; readonly offers: Offers },
  withMachine: (
    act: (box: Asker, spec: MachineSpec) => Promise<void>,
    options?: Partial<SandboxOptions>,
  ) => Promise<void>,
): void {
  const refusal = (reason: RegExp) => ({ code: 'sandbox_option_refused', message: reason });
  const refuses = async (options: Partial<SandboxOptions>, reason: RegExp): Promise<void> => {
    const { backend } = offered();
    const all = { ...NO_OPTIONS, ...options };
    assert.throws(() => backend.check(all), refusal(reason));
    const spec = { key: 'refused1', place: { project: 'shop', resource: 'boxes', id: 'refused' }, options: all };
    await assert.rejects(backend.create(spec), refusal(reason));
    assert.equal(await backend.state(spec.key), 'absent');
  };
  /** Stopped and started again with other options, as the service does it. */
  const remake = async (spec: MachineSpec, options: Partial<SandboxOptions>): Promise<void> => {
    const { backend } = offered();
    await backend.stop(spec.key);
    await backend.resume({ ...spec, options: { ...NO_OPTIONS, ...options } });
  };

  it('is as large as it says, and larger later, with its files and without its processes', async () => {
    const { sizes } = offered().offers;
    const size = async (box: Asker, { key }: MachineSpec, expected: MachineSize | 'none'): Promise<void> => {
      if (sizes !== null) assert.equal(await sizes.of(box, key), sizes.expected[expected]);
    };
    await withMachine(
      async (box, spec) => {
        await size(box, spec, 'small');
        await box.write('kept.txt', 'here');
        await box.ask('startProcess', { command: 'exec sleep 4718' });
        await remake(spec, { machine: 'default' });
        await size(box, spec, 'default');
        assert.equal(await box.read('kept.txt'), 'here');
        assert.deepEqual(await box.ask('listProcesses'), []);
        if (sizes === null) return;
        await remake(spec, {});
        await size(box, spec, 'none');
        assert.equal(await box.read('kept.txt'), 'here');
      },
      { machine: 'small' },
    );
  });

  it('refuses machines that there are not, and makes none', async () => {
    for (const [machine, reason] of Object.entries(offered().offers.sizes?.refused ?? {}))
      await refuses({ machine: machine as MachineSize }, reason);
  });

  it('has the system of its image, and another one later, with its files', async () => {
    const { image } = offered().offers;
    if (image instanceof RegExp) return refuses({ image: 'tools:3' }, image);
    if (image === null) return withMachine(async (box) => void (await box.exec('true')), { image: 'tools:3' });
    const isMarked = async (box: Asker): Promise<boolean> =>
      (await box.ask<{ exists: boolean }>('exists', { path: image.mark })).exists;
    await withMachine(async (box, spec) => {
      assert.equal(await isMarked(box), false);
      await box.write('kept.txt', 'here');
      await remake(spec, { image: image.name });
      assert.equal(await isMarked(box), true);
      assert.equal(await box.read('kept.txt'), 'here');
    });
    await withMachine(async (box) => assert.equal(await isMarked(box), true), { image: image.name });
    await refuses(
      { image: 'nobody/allowed-this:1' },
      /image nobody\/allowed-this:1 is not among those .*SANDBOX_IMAGES/,
    );
  });

  it('reaches what its egress says at most', async () => {
    const { egress } = offered().offers;
    if (egress instanceof RegExp) return refuses({ egress: { mode: 'none', allow: [] } }, egress);
    if (egress === null) return withMachine(async (box) => void (await box.exec('true')), { egress: ALLOW });
    const said = async (box: Asker, host: string): Promise<string> =>
      (await box.exec(`curl -s -m 20 http://${host}/`)).stdout;
    const notAmong = (host: string): string =>
      `EACCES ${host} is not among the hosts that this sandbox may reach (its egress.allow)\n`;
    await withMachine(
      async (box, spec) => {
        assert.equal(await said(box, 'allowed.invalid.example.com'), notAmong('allowed.invalid.example.com'));
        assert.equal(await said(box, '93.184.215.14'), notAmong('93.184.215.14'));
        assert.equal(await said(box, 'notbelow.invalid'), notAmong('notbelow.invalid'));
        // Allowed: what is wrong with them is that they are not there.
        for (const host of ['allowed.invalid', 'below.invalid', 'a.below.invalid', 'ALLOWED.invalid'])
          assert.match(await said(box, host), /^(?:ENOTFOUND|EAI_AGAIN) /, host);
        await remake(spec, { egress: { mode: 'none', allow: [] } });
        assert.equal(
          await said(box, 'allowed.invalid'),
          'EACCES this sandbox may reach nothing (its egress is "none")\n',
        );
        await remake(spec, { egress: { mode: 'all', allow: [] } });
        assert.match(await said(box, 'other.invalid'), /^(?:ENOTFOUND|EAI_AGAIN) /);
      },
      { egress: ALLOW },
    );
  });

  it('is copied with its files as they are, and neither hears of the other', async () => {
    const { backend, offers } = offered();
    if (offers.copies instanceof RegExp) {
      const refused = { code: 'sandbox_copy_refused', message: offers.copies };
      assert.throws(() => backend.checkCopy(), refused);
      return assert.rejects(backend.copy('one', 'two'), refused);
    }
    await withMachine(async (box, spec) => {
      // Written just now: what lies in memory alone counts as well.
      await box.exec(
        'mkdir -p deep/er; echo one > deep/er/file; chmod 751 deep/er/file; ln -s deep/er/file link; mkfifo pipe; head -c 3000000 /dev/urandom > large; sha256sum large > sum',
      );
      await box.ask('startProcess', { command: 'exec sleep 4719', processId: 'still' });
      const to: MachineSpec = { ...spec, key: `${spec.key}c` };
      try {
        await backend.suspend(spec.key);
        const sizeBytes = await backend.copy(spec.key, to.key);
        await backend.resume(spec);
        assert.ok(sizeBytes > 3_000_000 && sizeBytes < 100_000_000, String(sizeBytes));
        assert.equal(await backend.state(to.key), 'stopped');
        assert.ok((await backend.keys()).includes(to.key));
        await backend.resume(to);
        const copied = askerOf(backend, to.key);
        assert.equal(
          (await copied.exec('cat link; stat -c %a deep/er/file; sha256sum -c sum')).stdout,
          'one\n751\nlarge: OK\n',
        );
        assert.deepEqual(await copied.ask('listProcesses'), []);
        assert.equal((await box.ask<{ status: string }>('getProcess', { id: 'still' })).status, 'running');
        await copied.write('deep/er/file', 'two');
        await box.write('large', 'gone');
        assert.equal(await box.read('link'), 'one\n');
        assert.equal((await copied.exec('sha256sum -c sum')).stdout, 'large: OK\n');
      } finally {
        await backend.destroy(to.key);
      }
      assert.equal(await backend.state(to.key), 'absent');
    });
    await assert.rejects(backend.copy('nobody', 'other'), { code: 'sandbox_lost' });
    assert.equal(await backend.state('other'), 'absent');
  });
}

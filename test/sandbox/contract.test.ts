// The contract of sandboxes over containers, with a disk of their own and with a volume of the engine.
import assert from 'node:assert/strict';
import type { LookupFunction } from 'node:net';
import { test } from 'node:test';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';
import { askerOf } from '#test/contract/sandbox-asker.ts';
import { testSandboxBackend } from '#test/contract/sandbox.ts';
import { engineName, machine, openTestContainerCase, openTestContainers } from '#test/setup/sandbox-containers.ts';

const noLookup: LookupFunction = (_name, _options, done) =>
  done(Object.assign(new Error('no name'), { code: 'ENOTFOUND' }), []);

// The agent has little memory in a container.
testSandboxBackend(`containers of ${engineName}`, () => openTestContainerCase(), { streamedBytes: 100_000_000 });
testSandboxBackend(`containers of ${engineName}, without disks`, () => openTestContainerCase({ diskMb: 0 }));

test(`an image that may be asked for and that ${engineName} cannot get is said, by name`, async () => {
  const image = '127.0.0.1:9/nobody/has-this:1';
  const { backend, reports, close } = await openTestContainers({ images: [image] });
  try {
    const spec = machine();
    await assert.rejects(backend.create({ ...spec, options: { ...spec.options, image } }), {
      code: 'sandbox_unavailable',
      message: `The sandbox is unavailable: the container engine has no image ${image}, and cannot pull it`,
    });
    assert.equal(await backend.state(spec.key), 'absent');
    assert.equal(reports[0], `image ${image} is pulled, since a sandbox wants it and the engine lacks it`);
    assert.deepEqual(await backend.keys(), []);
  } finally {
    await close();
  }
});

test(`what a sandbox of ${engineName} may reach outlasts its service, and the operator's list is the most`, async () => {
  const egress = {
    policy: { loopback: false, private: false },
    lookup: noLookup,
    hosts: ['one.invalid', 'two.invalid'],
  };
  const containers = await openTestContainers({ egress });
  const spec = machine();
  const said = async (backend: SandboxBackend, host: string): Promise<string> =>
    (await askerOf(backend, spec.key).exec(`curl -s -m 20 http://${host}/`)).stdout;
  try {
    const options = { ...spec.options, egress: { mode: 'allow', allow: ['one.invalid', 'three.invalid'] } as const };
    await containers.backend.create({ ...spec, options });
    await containers.backend.close();
    const next = await containers.again();
    if ((await next.state(spec.key)) !== 'running') await next.resume({ ...spec, options });
    assert.equal(
      await said(next, 'two.invalid'),
      'EACCES two.invalid is not among the hosts that this sandbox may reach (its egress.allow)\n',
    );
    assert.equal(
      await said(next, 'three.invalid'),
      'EACCES three.invalid is not among the hosts that sandboxes may reach (SANDBOX_EGRESS_HOSTS)\n',
    );
    assert.equal(await said(next, 'one.invalid'), 'ENOTFOUND one.invalid:80\n');
  } finally {
    await containers.close();
  }
});

test(`an image that ${engineName} does not have is refused, with what to do`, async () => {
  await assert.rejects(
    openTestContainers({ image: 'nobody/has-this:1' }),
    /has no image nobody\/has-this:1: build it with `platform sandbox image -t nobody\/has-this:1`/,
  );
});

test('an engine that does not answer is refused, with its socket', async () => {
  await assert.rejects(
    openTestContainers({ socketPath: '/nowhere/engine.sock' }),
    /^Failure: The container engine at \/nowhere\/engine\.sock does not answer: ENOENT$/,
  );
});

test('a disk that is too small for a file system is refused', async () => {
  await assert.rejects(openTestContainers({ diskMb: 4 }), /SANDBOX_DISK_MB must be 0 or at least 16, but is "4"/);
});

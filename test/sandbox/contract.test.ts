// The contract of sandboxes over containers, with a disk of their own and with a volume of the engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSandboxBackend } from '#test/contract/sandbox.ts';
import { engineName, openTestContainers } from '#test/setup/sandbox-containers.ts';

testSandboxBackend(`containers of ${engineName}`, () => openTestContainers());
testSandboxBackend(`containers of ${engineName}, without disks`, () => openTestContainers({ diskMb: 0 }));

test(`an image that ${engineName} does not have is refused, with what to do`, async () => {
  await assert.rejects(
    openTestContainers({ image: 'nobody/has-this:1' }),
    /has no image nobody\/has-this:1: build it with `docker build -f Dockerfile\.sandbox/,
  );
});

test('an engine that does not answer is refused, with its socket', async () => {
  await assert.rejects(
    openTestContainers({ socketPath: '/nowhere/engine.sock' }),
    /^Error: The container engine at \/nowhere\/engine\.sock does not answer: ENOENT$/,
  );
});

test('a disk that is too small for a file system is refused', async () => {
  await assert.rejects(openTestContainers({ diskMb: 4 }), /SANDBOX_DISK_MB must be 0 or at least 16, but is "4"/);
});

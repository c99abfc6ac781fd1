// What sandboxes leave on the machine: nothing, however they end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askerOf } from '#test/contract/sandbox-asker.ts';
import { engineName, machine, machineThings, openTestContainers } from '#test/setup/sandbox-containers.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const over = (title: string): string => `${engineName}: ${title}`;

test(over('sandboxes that run, sleep, were stopped or ended by themselves leave nothing behind'), async () => {
  const before = await machineThings();
  const { backend, close } = await openTestContainers();
  const machines = [machine(), machine(), machine(), machine()];
  try {
    await Promise.all(machines.map((each) => backend.create(each)));
    const [, sleeping, stopped, ended] = machines as [unknown, ...Required<typeof machines>];
    await backend.suspend(sleeping!.key);
    // A snapshot, as the service makes it.
    await backend.copy(sleeping!.key, `${sleeping!.key}snapshot`);
    await backend.stop(stopped!.key);
    await askerOf(backend, ended!.key)
      .exec('kill -9 $PPID')
      .catch(() => {});
    await eventually('its end', async () => (await backend.state(ended!.key)) === 'stopped');
    assert.deepEqual(
      [...(await backend.keys())].toSorted(),
      [...machines.map(({ key }) => key), `${sleeping!.key}snapshot`].toSorted(),
    );
  } finally {
    await close();
  }
  await eventually('all as before', async () => {
    assert.deepEqual(await machineThings(), before);
    return true;
  });
});

test(over('a stopped sandbox is a file and nothing else'), async () => {
  const before = await machineThings();
  const { backend, close } = await openTestContainers();
  const spec = machine();
  try {
    await backend.create(spec);
    await askerOf(backend, spec.key).write('kept.txt', 'kept');
    await backend.stop(spec.key);
    await eventually('all as before', async () => {
      assert.deepEqual(await machineThings(), before);
      return true;
    });
    await backend.resume(spec);
    assert.equal(await askerOf(backend, spec.key).read('kept.txt'), 'kept');
  } finally {
    await close();
  }
});

test(over('a service that is killed loses nothing: the next one finds its machines'), async () => {
  const containers = await openTestContainers();
  const { backend } = containers;
  const spec = machine();
  try {
    await backend.create(spec);
    await askerOf(backend, spec.key).write('kept.txt', 'kept');
    const running = askerOf(backend, spec.key).exec('sleep 600');
    running.catch(() => {});
    await backend.close();
    await assert.rejects(running, { code: 'sandbox_lost' });
    const next = await containers.again();
    assert.deepEqual(await next.keys(), [spec.key]);
    // Docker keeps the program running; podman ends a container whose input is closed.
    if ((await next.state(spec.key)) !== 'running') await next.resume(spec);
    assert.equal(await askerOf(next, spec.key).read('kept.txt'), 'kept');
  } finally {
    await containers.close();
  }
});

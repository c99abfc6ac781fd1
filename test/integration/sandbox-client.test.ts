// The client by which processes of the platform use sandboxes, before a service of local ones.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { BUILD_RESOURCE, type SandboxPlace } from '#core/sandbox/operations.ts';
import { openSandboxClient, type SandboxServiceClient } from '#core/sandbox/service-client.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

let service: TestSandboxService;
let client: SandboxServiceClient;
const place = (id: string): SandboxPlace => ({ project: 'shop', resource: BUILD_RESOURCE, id });

before(async () => {
  service = await startTestSandboxService();
  client = openSandboxClient(service.address);
});
after(() => service.close());

test('commands, files and events pass', async () => {
  const one = place('one');
  assert.equal(await client.info(one), null);
  const content = Readable.from([Buffer.alloc(3_000_000, 1), Buffer.alloc(3_000_000, 2)]);
  await client.write(one, { path: 'deep/large', mode: 0o600 }, content);
  const result = (await client.call(one, 'exec', { command: 'stat -c "%a %s" deep/large' })) as { stdout: string };
  assert.equal(result.stdout, '600 6000000\n');
  const read = await buffer(await client.read(one, 'deep/large'));
  assert.deepEqual([read.length, read[0], read.at(-1)], [6_000_000, 1, 2]);
  await client.call(one, 'startProcess', { command: 'echo out; echo err >&2; exit 4', processId: 'p' });
  const events: unknown[] = [];
  for await (const event of client.events(one, 'streamProcessLogs', { id: 'p' })) events.push(event);
  assert.deepEqual(
    events.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? 1 : -1)),
    [
      { type: 'stdout', data: 'out\n' },
      { type: 'stderr', data: 'err\n' },
      { type: 'exit', exitCode: 4 },
    ],
  );
});

test('stop ends what runs and keeps the files', async () => {
  const two = place('two');
  await client.call(two, 'stop');
  assert.equal(await client.info(two), null, 'stop makes no sandbox');
  await client.write(two, { path: 'kept' }, Buffer.from('here'));
  const running = client.call(two, 'exec', { command: 'sleep 60' });
  const lost = assert.rejects(running, { code: 'sandbox_lost' });
  await client.call(two, 'stop');
  await lost;
  assert.equal((await client.info(two))?.state, 'stopped');
  assert.equal((await buffer(await client.read(two, 'kept'))).toString(), 'here');
  assert.equal((await client.info(two))?.state, 'running');
});

test('a refusal has the code and the words of the service', async () => {
  await assert.rejects(client.read(place('one'), 'nothing/here'), {
    code: 'file_not_found',
    message: /nothing\/here/,
  });
  const stranger = openSandboxClient({ ...service.address, token: 'x'.repeat(40) });
  await assert.rejects(stranger.info(place('one')), { code: 'sandbox_unauthorized' });
});

test('a call ends with its signal, and the command with the call', async () => {
  const ending = new AbortController();
  const reason = new Error('enough');
  const running = client.call(place('one'), 'exec', { command: 'sleep 50.123' }, { signal: ending.signal });
  setTimeout(() => ending.abort(reason), 100);
  await assert.rejects(running, reason);
});

test('a service that is away, or is none, is said so', async () => {
  const answers = createServer((_request, response) => void response.writeHead(502).end('<html>'));
  await new Promise<void>((resolve) => void answers.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(answers.address() as AddressInfo).port}`;
  const odd = openSandboxClient({ ...service.address, url });
  await assert.rejects(odd.info(place('one')), {
    code: 'sandbox_unavailable',
    message: 'The sandbox is unavailable: unexpected response of the sandbox service: it answers with status 502',
  });
  answers.closeAllConnections();
  await new Promise((resolve) => void answers.close(resolve));
  await assert.rejects(odd.info(place('one')), {
    code: 'sandbox_unavailable',
    message: 'The sandbox is unavailable: the sandbox service does not answer (ECONNREFUSED)',
  });
});

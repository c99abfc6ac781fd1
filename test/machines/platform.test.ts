// Sandboxes on the platform as it runs in production: a supervisor and its engine, which ask a service elsewhere.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

const worker = `
export default {
  async fetch(request, env) {
    const run = new Function('env', 'BOX', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(env, env.BOX)) ?? null); }
    catch (error) { return Response.json({ name: error.name, code: error.code }); }
  },
};`;
const yaml = 'sandbox:\n  BOX: boxes\n';

let platform: TestPlatform;
let service: TestSandboxService;

before(async () => {
  service = await startTestSandboxService();
  platform = await startPlatform({}, { SANDBOX_URL: service.address.url, SANDBOX_AUTH_TOKEN: service.address.token });
  await platform.deploy('shop', worker, yaml);
  await platform.deploy('rival', worker, yaml);
  await platform.deploy('shop', worker, yaml, { 'other.txt': '' }, 'login');
});
after(async () => {
  await platform.close();
  await service.close();
});

const run = async (project: string, code: string): Promise<unknown> =>
  (await platform.fetch(project, '/', { method: 'POST', body: code })).json();

test('projects and previews have sandboxes of their own under the same id', async () => {
  const look = `return (await BOX.get('same').exec('cat mine 2>/dev/null || echo nothing')).stdout;`;
  await run('shop', `await BOX.get('same').writeFile('mine', 'of shop');`);
  assert.equal(await run('shop', look), 'of shop');
  assert.equal(await run('rival', look), 'nothing\n');
  assert.equal(await run('shop--login', look), 'nothing\n');
  assert.deepEqual([...new Set(service.asked.map((path) => path.split('/').slice(3, 7).join(' ')))].toSorted(), [
    'rival sandboxes boxes same',
    'shop sandboxes boxes same',
    'shop sandboxes boxes~~login same',
  ]);
});

test('the token of the service is nowhere in reach of a worker or a command', async () => {
  const seen = await run(
    'shop',
    `const { stdout } = await BOX.get('same').exec('env');
     const address = (await BOX.get('same').info());
     return JSON.stringify([env, process.env, BOX, BOX.get('same'), stdout, address]);`,
  );
  assert.ok(!String(seen).includes(service.address.token));
});

test('bytes go both ways as streams, larger than what is held of them', async () => {
  assert.equal(
    await run(
      'shop',
      `const box = BOX.get('large');
       let left = 200;
       const content = new ReadableStream({ pull(controller) {
         if (left-- > 0) controller.enqueue(new Uint8Array(100_000).fill(7)); else controller.close(); } });
       await box.writeFile('large', content);
       let bytes = 0;
       for await (const chunk of await box.readFileStream('large')) bytes += chunk.byteLength;
       return bytes + ' ' + (await box.exec('wc -c < large')).stdout.trim();`,
    ),
    '20000000 20000000',
  );
});

test('a service that is away is said so, and found again', async () => {
  await service.goAway();
  assert.deepEqual(await run('shop', `return BOX.get('same').exec('true');`), {
    name: 'SandboxError',
    code: 'sandbox_unavailable',
  });
  await service.comeBack();
  assert.equal(await run('shop', `return (await BOX.get('same').exec('echo again')).stdout;`), 'again\n');
});

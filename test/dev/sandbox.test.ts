// Sandboxes in `platform dev`: what it says of them, their AI gateway, programs for Node and a restart. What the
// binding does is in test/integration/sandbox-binding.test.ts.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '#test/setup/free-port.ts';
import { runChild } from '#test/setup/node-program.ts';
import { findProcess } from '#test/contract/sandbox-asker.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import { send } from '#test/setup/send.ts';

const worker = `
export default {
  async fetch(request, { BOX }) {
    const run = new Function('BOX', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(BOX)) ?? null); }
    catch (error) { return Response.json({ error: error.name + ': ' + error.message, code: error.code }); }
  },
};`;

let folder: string;
let dev: TestDev;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-dev-'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'package.json'), '{"name":"boxes","type":"module"}');
  await writeFile(join(folder, 'src/index.js'), worker);
  await writeFile(join(folder, 'platform.yaml'), 'kind: worker\nsandbox:\n  BOX: boxes\n');
  dev = await startDev(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(code: string): Promise<unknown> {
  return (await dev.fetch('/', { method: 'POST', body: code })).json();
}

test('a command runs, and the developer is told that nothing isolates', async () => {
  assert.equal(await run(`return (await BOX.get('one').exec('echo out')).stdout;`), 'out\n');
  await dev.printed(/sandboxes are processes of this machine here and do NOT isolate/);
});

test('a command reaches the AI gateway of dev, by a token that ends with its sandbox', async () => {
  const question = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'six times seven' }] });
  const ask = (token: string, more = ''): string =>
    `curl -s -m 60 -w ' %{http_code}' -H "authorization: Bearer ${token}" -H 'content-type: application/json' ` +
    `-d '${question}' "$PLATFORM_AI_URL${more}/chat/completions"`;
  const of = async (command: string): Promise<string> => {
    const code = `return (await BOX.get('ai').exec(${JSON.stringify(command)})).stdout;`;
    return String(await run(code));
  };
  const said = await of(ask('$(cat "$PLATFORM_AI_TOKEN_FILE")'));
  assert.match(said, /"object":"chat\.completion".*six times seven.* 200$/s);
  assert.match(await of('cat "$PLATFORM_AI_TOKEN_FILE"'), /^pk_ai_ait[0-9a-z]{20}_[\w-]{43}$/);
  assert.equal(await of('stat -c %a "$PLATFORM_AI_TOKEN_FILE"; env | grep -c pk_ai_'), '600\n0\n');
  assert.equal(await of('test "$(platform-ai-token)" = "$(cat "$PLATFORM_AI_TOKEN_FILE")" && echo same'), 'same\n');
  assert.match(await of(ask('pk_ai_x')), /This is not the token of a running sandbox.* 401$/);
  assert.match(
    await of(ask('$(cat "$PLATFORM_AI_TOKEN_FILE")', '/../projects')),
    /Sandboxes can only reach \/ai at this address.* 404$/,
  );
  const [url, token] = (await of('echo "$PLATFORM_AI_URL"; cat "$PLATFORM_AI_TOKEN_FILE"')).split('\n');
  const models = async (): Promise<number> =>
    (await fetch(`${url}/models`, { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await models(), 200);
  await run(`await BOX.get('ai').suspend();`);
  assert.equal(await models(), 401);
  assert.notEqual(await of('cat "$PLATFORM_AI_TOKEN_FILE"'), token);
  const without = `return await BOX.get('ai', { ai: false }).exec('echo "[$PLATFORM_AI_URL]"; platform-ai-token');`;
  const { stdout, stderr, exitCode } = (await run(without)) as Record<string, unknown>;
  assert.deepEqual(
    [stdout, stderr, exitCode],
    ['[]\n', 'platform-ai-token: this sandbox has no token for the AI gateway\n', 1],
  );
  assert.equal(await run(`return (await BOX.get('ai').info()).ai;`), false);
  assert.match(
    String(await run(`return (await BOX.get('ai', { ai: true }).exec('platform-ai-token')).stdout;`)),
    /^pk_ai_/,
  );
  await run(`await BOX.get('ai').destroy();`);
});

test('what a sandbox is to be made of does nothing in dev, which says so', async () => {
  assert.equal(
    await run(`
      const options = { machine: 'large', image: 'tools:3', egress: { mode: 'allow', allow: ['example.com'] } };
      return (await BOX.get('sized', options).exec('echo made')).stdout;`),
    'made\n',
  );
  for (const name of ['machine', 'image', 'egress'])
    await dev.printed(new RegExp(`the option ${name} of sandboxes does nothing here`));
});

test('an exposed port has an address on localhost', async () => {
  const port = await freePort();
  const server = `require('http').createServer((_, s) => s.end('from inside')).listen(${port}, '127.0.0.1')`;
  const { url, token } = (await run(`
    const box = BOX.get('one');
    await box.startProcess(['node', '-e', ${JSON.stringify(server)}], { processId: 'seen' });
    await box.waitForPort(${port});
    return box.exposePort(${port});`)) as { url: string; token: string };
  assert.match(url, /^http:\/\/port---[a-z2-7]{16}\.localhost:\d+\/$/);
  const { host } = new URL(url);
  assert.equal((await send(dev.port, host, `/?token=${token}`)).text, 'from inside');
  assert.equal((await send(dev.port, host, '/')).status, 401);
  await run(`await BOX.get('one').killProcess('seen'); await BOX.get('one').unexposePort(${port});`);
  assert.equal((await send(dev.port, host, `/?token=${token}`)).status, 404);
});

test('a program for Node has them too, and a session of its own', async () => {
  await dev.printed(/Dashboard http/);
  const { output, errors } = await runChild(
    `import { getPlatformEnv } from ${JSON.stringify(join(import.meta.dirname, '../../packages/dev/index.ts'))};
     const { BOX } = await getPlatformEnv();
     const box = BOX.get('node', { machine: 'small' });
     await box.writeFile('a/b', new Uint8Array([104, 105]));
     const session = await box.createSession({ cwd: 'a', env: { ONE: '1' } });
     await session.setEnvVars({ TWO: '2' });
     const { stdout, exitCode } = await session.exec('cat b; echo $ONE$TWO; exit 4');
     const events = await new Response(await box.execStream('echo streamed')).text();
     const failed = await box.readFile('none').catch(({ name, code }) => [name, code]);
     const forked = await (await box.fork('fork-of-node')).exec('cat a/b');
     const { of } = await box.snapshot({ id: 'of-node' });
     const { items: snapshots } = await BOX.listSnapshots();
     await BOX.deleteSnapshot('of-node');
     const { items } = await BOX.list({ prefix: 'node' });
     console.log(JSON.stringify([stdout, exitCode, /"data":"streamed/.test(events), [...await box.readFileBytes('a/b')], failed, items[0].id, items[0].machine, forked.stdout, of, snapshots[0].id]));`,
    { cwd: folder },
  );
  assert.deepEqual(
    JSON.parse(output || '[]'),
    ['hi12\n', 4, true, [104, 105], ['SandboxError', 'file_not_found'], 'node', 'small', 'hi', 'node', 'of-node'],
    errors,
  );
});

test('files outlast a restart of dev, and no process does', async () => {
  // Nobody else's on this machine.
  const sleep = `sleep ${30_000_000 + process.pid}`;
  await run(`const box = BOX.get('kept'); await box.writeFile('a', 'still here'); await box.startProcess('${sleep}');`);
  await dev.close();
  dev = await startDev(folder);
  assert.deepEqual(
    await run(`
      const box = BOX.get('kept');
      return [(await box.readFile('a')).content, await box.listProcesses(), (await box.exec(${JSON.stringify(`${findProcess(sleep)} || echo none`)})).stdout];`),
    ['still here', [], 'none\n'],
  );
});

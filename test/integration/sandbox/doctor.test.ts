// What `platform doctor` and the operator's page say of sandboxes: by the service itself, which sees its engine or its
// provider. The token and the provider's key are in no message.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { createBearerCheck } from '#core/process/bearer.ts';
import { checkSandboxes } from '#operations/doctor/sandboxes.ts';
import { checkContainers } from '#sandbox/backends/container/checks.ts';
import { openEngineApi } from '#sandbox/backends/container/engine-api.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import type { Sandboxes } from '#sandbox/routes/held-sandboxes.ts';
import { openFakeHostedBackend, startHostedProvider } from '#test/setup/hosted-provider.ts';

const TOKEN = 'b7c9d1e3f5a7b9c1d3e5f7a9b1c3d5e7';

async function listen(context: TestContext, listener: RequestListener, socket?: string): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) =>
    socket === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(socket, resolve),
  );
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return socket === undefined ? (server.address() as AddressInfo).port : 0;
}

const short = (findings: readonly { status: string; message: string }[]): string[] =>
  findings.map(({ status, message }) => `${status} ${message}`);

test('nothing is said where nobody uses sandboxes, and a service that nobody uses is', async () => {
  assert.deepEqual(await checkSandboxes({}), []);
  assert.deepEqual(await checkSandboxes({ SANDBOX_PROVIDER: 'container' }), [
    {
      name: 'sandboxes',
      status: 'warn',
      message: 'SANDBOX_PROVIDER starts a sandbox service, but it is not used without SANDBOX_URL',
      advice: 'Set SANDBOX_URL, such as http://127.0.0.1:4006.',
    },
  ]);
});

test('a service that answers tells what it finds, one that does not is a failure, and so is another token', async (context) => {
  const routes = createSandboxRoutes({
    sandboxes: {} as Sandboxes,
    isAuthorized: createBearerCheck(TOKEN),
    callsMax: 1,
    log: () => {},
    status: async () => ({
      provider: 'container',
      held: 3,
      running: 2,
      checks: [
        { name: 'engine', status: 'ok', message: 'The container engine 20.10.24 answers', advice: null },
        { name: 'image', status: 'fail', message: 'The engine has no image box', advice: 'Build it.' },
      ],
    }),
  });
  const port = await listen(context, routes);
  const SANDBOX_URL = `http://127.0.0.1:${port}`;
  assert.deepEqual(await checkSandboxes({ SANDBOX_URL, SANDBOX_AUTH_TOKEN: TOKEN }), [
    {
      name: 'sandboxes',
      status: 'ok',
      message: `The service at 127.0.0.1:${port} answers: container, 2 run`,
      advice: null,
    },
    { name: 'sandboxes', status: 'ok', message: 'The container engine 20.10.24 answers', advice: null },
    { name: 'sandboxes', status: 'fail', message: 'The engine has no image box', advice: 'Build it.' },
  ]);
  const other = await checkSandboxes({ SANDBOX_URL, SANDBOX_AUTH_TOKEN: TOKEN.replace('b', 'c') });
  assert.deepEqual(short(other), [`fail The sandbox service at 127.0.0.1:${port} does not accept SANDBOX_AUTH_TOKEN`]);
  assert.deepEqual(short(await checkSandboxes({ SANDBOX_URL })), [
    'fail SANDBOX_URL is set, and SANDBOX_AUTH_TOKEN is not',
  ]);
  const away = await checkSandboxes({ SANDBOX_URL: 'http://127.0.0.1:1', SANDBOX_AUTH_TOKEN: TOKEN });
  assert.match(short(away).join(), /^fail The sandbox service at 127\.0\.0\.1:1 does not answer: /);
  assert.equal(JSON.stringify([other, away]).includes(TOKEN), false);
});

test('what is no sandbox service is said to be none, whatever it answers', async (context) => {
  const answers = ['{}', 'null', '[]', '<html>', JSON.stringify({ provider: 'x', running: 1, checks: 'many' })];
  const port = await listen(context, (_request, response) => {
    response.end(answers.shift() ?? ' '.repeat(100_000));
  });
  const ask = async (): Promise<string> =>
    short(await checkSandboxes({ SANDBOX_URL: `http://127.0.0.1:${port}`, SANDBOX_AUTH_TOKEN: TOKEN })).join();
  const none = `fail 127.0.0.1:${port} does not answer like a sandbox service (status 200)`;
  assert.deepEqual([await ask(), await ask(), await ask(), await ask(), await ask()], Array(5).fill(none));
  assert.equal(
    await ask(),
    `fail The sandbox service at 127.0.0.1:${port} does not answer: its response has more than 65536 bytes`,
  );
});

test('the engine is looked at: whether it answers, has the image, and gave a sandbox a network', async (context) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-doctor-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const socket = path.join(folder, 'engine.sock');
  const modes: Record<string, string> = { a: 'none', b: 'bridge' };
  let hasImage = false;
  await listen(
    context,
    (request, response) => {
      const { pathname } = new URL(request.url!, 'http://engine');
      const say = (value: unknown, status = 200): void => void response.writeHead(status).end(JSON.stringify(value));
      if (pathname.endsWith('/version')) return say({ Version: '20.10.24' });
      if (pathname.includes('/images/')) return hasImage ? say({}) : say({ message: 'no such image' }, 404);
      if (pathname.endsWith('/containers/json')) return say([...Object.keys(modes), 'gone'].map((Id) => ({ Id })));
      const mode = modes[pathname.split('/').at(-2)!];
      return mode === undefined ? say({}, 404) : say({ HostConfig: { NetworkMode: mode } });
    },
    socket,
  );
  const look = async (socketPath: string, diskMb: number): Promise<string[]> => {
    const api = openEngineApi(socketPath);
    const found = await checkContainers({ api, image: 'box', labels: { of: 'test' }, diskMb });
    api.close();
    return short(found);
  };
  assert.deepEqual(await look(socket, 0), [
    'ok The container engine 20.10.24 answers',
    'fail The engine has no image box',
    'fail 1 of 2 containers of sandboxes have a network of their own',
    'warn SANDBOX_DISK_MB=0: sandboxes share the disk of the engine, without a limit',
  ]);
  hasImage = true;
  modes['b'] = 'none';
  assert.deepEqual(await look(socket, 1024), [
    'ok The container engine 20.10.24 answers',
    'ok The engine has the image box',
    'ok None of 2 containers has a network',
    'ok Each sandbox has a disk of 1024 MB',
  ]);
  const away = path.join(folder, 'none.sock');
  assert.deepEqual(await look(away, 0), [`fail The container engine at ${away} does not answer: ENOENT`]);
});

test('a provider is looked at: its key, its template, and whether it answers', async (context) => {
  const provider = await startHostedProvider();
  context.after(() => provider.close());
  const environment = { HOSTED_TEMPLATE: 'node', HOSTED_TEMPLATE_SNAPSHOT_ID: 's1' };
  const backend = await openFakeHostedBackend(provider, { environment });
  context.after(() => backend.close());
  const host = new URL(provider.baseUrl).host;
  assert.deepEqual(short(await backend.checks!()), [
    `ok ${host} answers over HTTPS`,
    'ok HOSTED_API_KEY is restricted to certain actions',
  ]);
  provider.key = { scoped: false, actions: [], expiresAt: '2020-02-03T00:00:00Z' };
  provider.templates.set('node', 's2');
  assert.deepEqual(short(await backend.checks!()), [
    `ok ${host} answers over HTTPS`,
    'warn HOSTED_API_KEY is not restricted to certain actions; create a key with only the actions that docs/sandbox-provider.md lists',
    'warn HOSTED_API_KEY expires on 2020-02-03: create a new one',
    'fail Template node is at snapshot s2, and HOSTED_TEMPLATE_SNAPSHOT_ID pins s1: look at what changed, then pin the new one',
  ]);
  provider.misbehave(/^GET \/v1\/account$/, { kind: 'status', status: 401 });
  assert.deepEqual(short(await backend.checks!()), [
    'fail the provider does not know HOSTED_API_KEY: it may have expired',
  ]);
});

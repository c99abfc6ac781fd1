// How an engine asks the AI gateway: over its socket, in the name of the deployment, and for as long as somebody waits.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as requestOver, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { decodeCaller } from '#core/ai-caller.ts';
import { createAiSocket } from '#runtime/engine/bindings/ai-transport.ts';
import { onlyInIsolates, startHandler, type TestHandler } from '#test/setup/handler.ts';

/** Private, so that no fetch of a worker reaches it. */
const URL_OF_GATEWAY = 'http://10.0.0.1:4002/platform/ai';

const worker = `
const failed = async (run) => { try { await run(); return null; } catch ({ name, code, status, message }) { return { name, code, status, message }; } };
const messages = [{ role: 'user', content: 'hi' }];
const say = ({ env }) => env.AI.run('auto', { messages });
export default {
  async fetch(request, { AI, vars }) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/run') return Response.json(await AI.run('auto', { messages }, { timeoutMs: 7, cacheTtl: 60, fallbacks: ['a/b', 'c/d'], extraHeaders: { 'idempotency-key': 'k' } }));
    if (pathname === '/hang') return new Response(await AI.run('hang', { messages, stream: true }));
    if (pathname === '/wait') return Response.json(await AI.run('wait', { messages }));
    if (pathname === '/signal') {
      const controller = new AbortController();
      const running = failed(() => AI.run('wait', { messages }, { signal: controller.signal }));
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.abort();
      return Response.json(await running);
    }
    if (pathname === '/failed') return Response.json(await failed(() => AI.run('auto', { messages })));
    const init = { headers: { authorization: 'Bearer own', 'x-platform-ai-caller': 'forged', 'x-platform-ai-hops': '-9' } };
    return Response.json(await failed(async () => { await (await fetch(searchParams.get('url'), init)).text(); }));
  },
  workflows: { platform_agent_run: { handler: say }, other: { handler: say } },
};`;

/** A server's requests and runs are its own, and so is what it fetches: only its bindings are ours. */
const ofIsolates = onlyInIsolates('a server fetches by itself');

let folder: string;
let handler: TestHandler;
const server = createServer();

/** What the gateway is asked next, and its answer. */
async function asked(): Promise<[IncomingMessage, ServerResponse]> {
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  return [request, response];
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

const answer = (response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json');
  response.end('{"choices":[]}');
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-ai-'));
  server.listen(join(folder, 'ai-engines.sock'));
  await once(server, 'listening');
  const source = { files: worker, yaml: 'ai: true\n' };
  handler = await startHandler(
    { shop: { ...source, plan: 'pro', owner: { organization: 'org_1', project: 'prj_1' } }, published: source },
    {},
    {
      ai: { transport: createAiSocket(join(folder, 'ai-engines.sock')), url: () => URL_OF_GATEWAY },
      egress: { loopback: false, private: false },
    },
  );
});
after(async () => {
  await handler.close();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test('env.AI asks in the name of the deployment, with what its options say', async () => {
  const answered = handler.fetch('shop', '/run');
  const [request, response] = await asked();
  assert.deepEqual([request.method, request.url], ['POST', '/ai/chat/completions']);
  const { headers } = request;
  const caller = decodeCaller(String(headers['x-platform-ai-caller']));
  assert.match(caller!.deploymentId!, /^d[0-9a-f]{11}/);
  assert.deepEqual(
    { ...caller, deploymentId: null },
    {
      kind: 'worker',
      organizationId: 'org_1',
      projectId: 'prj_1',
      deploymentId: null,
      branch: 'main',
      plan: 'pro',
      runId: null,
    },
  );
  const said = ['x-platform-timeout-ms', 'x-platform-cache-ttl', 'x-platform-fallbacks', 'idempotency-key'];
  assert.deepEqual(
    said.map((name) => headers[name]),
    ['7', '60', 'a/b,c/d', 'k'],
  );
  assert.equal(headers.authorization, undefined);
  assert.deepEqual(JSON.parse(await textOf(request)), { model: 'auto', messages: [{ role: 'user', content: 'hi' }] });
  answer(response);
  assert.deepEqual((await answered).json(), { choices: [] });
});

test('a deployment that was published without a control plane is of the organization local', async () => {
  const answered = handler.fetch('published', '/run');
  const [request, response] = await asked();
  const caller = decodeCaller(String(request.headers['x-platform-ai-caller']));
  assert.deepEqual([caller!.organizationId, caller!.projectId, caller!.plan], ['local', 'published', 'free']);
  answer(response);
  assert.deepEqual((await answered).json(), { choices: [] });
});

test(
  'a fetch to PLATFORM_AI_URL goes over the socket with its own token, and names no caller',
  ofIsolates,
  async () => {
    const answered = handler.fetch('shop', `/fetch?url=${encodeURIComponent(`${URL_OF_GATEWAY}/v1/models?a=1`)}`);
    const [request, response] = await asked();
    assert.equal(request.url, '/ai/v1/models?a=1');
    assert.equal(request.headers.authorization, 'Bearer own');
    assert.equal(request.headers['x-platform-ai-caller'], undefined);
    assert.equal(request.headers['x-platform-ai-hops'], undefined);
    answer(response);
    assert.equal((await answered).json(), null);
  },
);

for (const url of [
  'http://10.0.0.1:4002/platform',
  'http://10.0.0.1:4002/platform/aix',
  'http://10.0.0.1:4002/platform/ai/../models',
  'http://10.0.0.1:4002/platform/ai/%2e%2e/models',
  'http://10.0.0.1:4003/platform/ai',
  'https://10.0.0.1:4002/platform/ai',
])
  test(`${url} is not the gateway's, and stays forbidden`, ofIsolates, async () => {
    const { code } = (await handler.fetch('shop', `/fetch?url=${encodeURIComponent(url)}`)).json() as { code: string };
    assert.equal(code, 'egress_forbidden');
  });

test('a client that goes away ends the call before its answer begins, and while it streams', ofIsolates, async () => {
  for (const path of ['/wait', '/hang']) {
    const client = requestOver({ port: handler.port, path, headers: { host: 'shop.localhost' } }).end();
    client.on('error', () => {});
    const [request, response] = await asked();
    const closed = once(response, 'close');
    if (path === '/hang') {
      response.write('data: {}\n\n');
      await once(client, 'response');
    }
    client.destroy();
    await closed;
    assert.equal(response.writableFinished, false, path);
    assert.ok(request.destroyed, path);
  }
});

test('a signal ends the call', async () => {
  const answered = handler.fetch('shop', '/signal');
  const [, response] = await asked();
  await once(response, 'close');
  assert.equal(((await answered).json() as { name: string }).name, 'AbortError');
});

test('a run of the agent library asks as an agent, one of another workflow as its worker', ofIsolates, async () => {
  for (const [workflow, kind, runId] of [
    ['platform_agent_run', 'agent', 'run-7'],
    ['other', 'worker', null],
  ] as const) {
    const event = { workflow, executionId: 'run-7', lease: '1.x', input: null, steps: {} };
    const ran = handler.deliver('shop', 'workflow', event);
    const [request, response] = await asked();
    const caller = decodeCaller(String(request.headers['x-platform-ai-caller']));
    assert.deepEqual([caller?.kind, caller?.runId], [kind, runId]);
    answer(response);
    assert.equal((await ran).outcome, 'ok');
  }
});

test('a gateway that cannot be reached is an AiError', async () => {
  const answered = handler.fetch('shop', '/failed');
  const [request] = await asked();
  request.socket.destroy();
  assert.deepEqual((await answered).json(), {
    name: 'AiError',
    code: 'upstream_error',
    status: 502,
    message: 'The AI gateway cannot be reached',
  });
});

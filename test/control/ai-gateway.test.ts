// The whole platform with the AI gateway: a worker that calls it, clients outside, its death, its end, and who has the
// keys of providers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { build } from '#builder/build/build.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { packArtifact } from '#artifacts/archive/pack-artifact.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { aiModelAnswers, aiModelClients, askAiModels } from '#test/setup/ai-models.ts';
import { freePort } from '#test/setup/free-port.ts';
import { skipPackages } from '#test/setup/packages.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const KEY = 'sk-of-the-provider-0123456789';
const SECRET = '0123456789abcdef0123456789abcdef0123456789abcdef';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
let platform: TestPlatform;
let api: string;
let token: string;
/** A provider that the test answers for. */
let provider: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};

before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2 });
  provider = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const port = await freePort();
  api = `http://localhost:${port}`;
  platform = await startPlatform(
    {},
    {
      DATABASE_URL: database.url,
      ENGINE_DATABASE_URL: database.engineUrl,
      ENCRYPTION_KEY: SECRET,
      AUTH_SECRET: SECRET,
      API_PORT: String(port),
      UI_PORT: 'off',
      DOCS_PORT: 'off',
      AI_PROVIDER_MOCK_KIND: 'mock',
      AI_PROVIDER_UP_KIND: 'openai',
      AI_PROVIDER_UP_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`,
      AI_PROVIDER_UP_KEY: KEY,
      AI_ALIASES: 'fast=mock/echo',
      AI_AUTO: 'fast',
      AI_BODY_BYTES_MAX: '100000',
      AI_DRAIN_MS: '200',
    },
  );
  await until(async () => ((await fetch(`${api}/health`).catch(() => null))?.ok === true ? true : null));
  await deploy('shop');
  token = ((await (await site('/token')).json()) as [string, string])[1];
});
after(async () => {
  await platform.close();
  provider.close();
  provider.closeAllConnections();
  await sql.close();
  await database.close();
});

const worker = `export default { async fetch(request, env) {
  const { pathname } = new URL(request.url);
  if (pathname === '/token') return Response.json([env.PLATFORM_AI_URL, env.PLATFORM_AI_TOKEN]);
  if (pathname === '/run') return Response.json(await env.AI.run('auto', { prompt: 'by the binding' }));
  return fetch(env.PLATFORM_AI_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + env.PLATFORM_AI_TOKEN },
    body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'by its URL' }] }),
  });
} };`;

async function site(at: string): Promise<Response> {
  const { status, text } = await platform.fetch('shop', at);
  return new Response(text, { status });
}

/** By the API, as the first admin. */
async function deploy(name: string, built?: string): Promise<void> {
  const admin = readFileSync(path.join(platform.folder, 'secrets/first-run-token'), 'utf8').trim();
  const call = async (method: string, at: string, body: unknown): Promise<Record<string, string>> => {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(`${api}${at}`, {
      method,
      headers: {
        authorization: `Bearer ${admin}`,
        'content-type': isBytes ? 'application/octet-stream' : 'application/json',
      },
      body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${at}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, string>);
  };
  const [organization] = await sql.all<{ id: string }>('SELECT id FROM control.organization');
  const { id: projectId } = await call('POST', '/projects', { name, organizationId: organization!.id });
  const artifact = built ?? (await platform.build(name, worker, 'ai: true\n'));
  const packed = path.join(platform.folder, `packed-${name}`);
  await packArtifact(path.join(platform.folder, 'artifacts', artifact), packed);
  const archive = readFileSync(packed);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const upload = await call('POST', `/projects/${projectId}/uploads`, {
    bytes: archive.length,
    sha256,
    branch: 'main',
  });
  await call('PUT', `/uploads/${upload['id']}`, archive);
  const { deploymentId } = await call('POST', `/uploads/${upload['id']}/deploy`, {});
  await until(async () => {
    const [row] = await sql.all<{ status: string; error_message: string }>(
      'SELECT status, error_message FROM control.deployment WHERE id = $1',
      deploymentId!,
    );
    assert.notEqual(row!.status, 'failure', row!.error_message);
    return row!.status === 'success' ? true : null;
  });
}

const post = (body: unknown, init: RequestInit = {}): Promise<Response> =>
  fetch(`${api}/ai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });
interface Refused {
  readonly error: { readonly code: string };
}
const chat = (model: string, more: object = {}) => ({ model, messages: [{ role: 'user', content: 'hello' }], ...more });
const said = async (response: Response): Promise<string> =>
  ((await response.json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content;
const gatewayPid = async (): Promise<number> =>
  until(async () => {
    const { services } = await platform.state();
    const found = services.find(({ name, state }) => name === 'gateway' && state === 'ready');
    return found?.pid ?? null;
  });

async function killGateway(): Promise<void> {
  const pid = await gatewayPid();
  process.kill(pid, 'SIGKILL');
  await until(async () => ((await gatewayPid()) === pid ? null : true));
}

test('a worker calls models by env.AI and by PLATFORM_AI_URL, a client outside by its token', async () => {
  assert.equal(await said(await site('/run')), 'by the binding');
  assert.equal(await said(await site('/fetch')), 'by its URL');
  const response = await post(chat('auto'));
  assert.equal(response.headers.get('x-platform-model'), 'mock/echo');
  assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
  assert.equal(await said(response), 'hello');
  const rows = await until(async () => {
    const found = await sql.all<{ kind: string; branch: string; model: string }>(
      'SELECT kind, branch, model FROM control.ai_usage ORDER BY at',
    );
    return found.length === 3 ? found : null;
  });
  for (const row of rows) assert.deepEqual(row, { kind: 'worker', branch: 'main', model: 'mock/echo' });
});

test('openai, the AI SDK and a provider over env.AI ask from inside an isolate', { skip: skipPackages }, async () => {
  const { id } = await build({
    root: path.join(import.meta.dirname, '../packages'),
    config: parseProjectConfig('main: workers/ai-models.js\nai: true\n', { file: 'platform.yaml' }).config!,
    artifacts: path.join(platform.folder, 'artifacts'),
    durable: false,
  });
  await deploy('clients', id);
  const ask = (at: string) => platform.fetch('clients', at);
  for (const client of aiModelClients) assert.deepEqual(await askAiModels(client, ask), aiModelAnswers, client);
});

test('nobody outside says who they are', async () => {
  const [caller] = await sql.all<{ organization_id: string }>('SELECT organization_id FROM control.ai_token');
  const forged = {
    kind: 'key',
    organizationId: caller!.organization_id,
    projectId: null,
    deploymentId: null,
    branch: null,
    plan: 'free',
    runId: null,
  };
  const header = Buffer.from(JSON.stringify(forged)).toString('base64url');
  const response = await fetch(`${api}/ai/models`, { headers: { 'x-platform-ai-caller': header } });
  assert.equal(response.status, 401);
});

test('a stream comes through as it is made, and who hangs up ends it at the provider', async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  answer = (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const delta = { choices: [{ index: 0, delta: { role: 'assistant', content: 'first' }, finish_reason: null }] };
    response.write(`data: ${JSON.stringify(delta)}\n\n`);
    response.on('close', () => ended.resolve(request.headers.authorization!));
    begun.resolve();
  };
  const gone = new AbortController();
  const response = await post(chat('up/slow', { stream: true }), { signal: gone.signal });
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  await begun.promise;
  assert.match(Buffer.from(value!).toString(), /"content":"first"/);
  gone.abort();
  assert.equal(await ended.promise, `Bearer ${KEY}`);
});

test('a body beyond the bound is refused, and so is what is no body', async () => {
  const large = await post(chat('auto', { user: 'x'.repeat(200_000) }));
  assert.equal(large.status, 413);
  assert.equal(((await large.json()) as { error: { code: string } }).error.code, 'request_too_large');
  assert.equal((await post('{"model":')).status, 400);
});

test('the keys of providers are in the process of the gateway alone', async () => {
  const { engines, services } = await platform.state();
  const environment = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8');
  assert.ok(environment(await gatewayPid()).includes(KEY));
  const others = services.filter(({ name, pid }) => name !== 'gateway' && pid !== null).map(({ pid }) => pid!);
  assert.ok(others.length >= 3);
  for (const pid of [...others, ...engines.map((engine) => engine.pid)]) {
    const text = environment(pid);
    assert.ok(!text.includes(KEY) && !text.includes('AI_PROVIDER_'), `process ${pid} has a key`);
  }
});

test('a gateway that is killed is started again, and its tokens are those from before', async () => {
  await killGateway();
  assert.equal(await said(await post(chat('auto'))), 'hello');
  assert.equal(await said(await site('/run')), 'by the binding');
});

test('50 streamed calls at once pass a limit by at most one, and rows of usage are what the provider counted', async () => {
  const [most, tokensACall] = [100, 12];
  let told = 0;
  answer = (request, response) => {
    request.resume();
    const chunks = [
      { choices: [{ index: 0, delta: { role: 'assistant', content: 'five' }, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: tokensACall } },
    ];
    told += tokensACall;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);
  };
  await sql.all(
    `INSERT INTO control.ai_settings (organization_id, limits)
     SELECT id, jsonb_build_array(jsonb_build_object('of', 'tokens', 'per', 'month', 'most', $1::integer))
     FROM control.organization`,
    most,
  );
  // One that has just begun remembers no earlier settings.
  await killGateway();
  const ask = async (): Promise<string> => {
    const response = await post(chat('up/budget', { stream: true, max_tokens: tokensACall }));
    return response.ok ? (await response.text(), 'ok') : ((await response.json()) as Refused).error.code;
  };
  // Waves, until all is used: room that is reserved and not used comes back.
  const codes: string[] = [];
  while (codes.at(-1) !== 'insufficient_quota') codes.push(...(await Promise.all(Array.from({ length: 50 }, ask))));
  await sql.all('DELETE FROM control.ai_settings');
  assert.ok(told >= most && told <= most + tokensACall, `${told} of ${most}`);
  assert.deepEqual(new Set(codes), new Set(['ok', 'rate_limit_exceeded', 'insufficient_quota']));
  const calls = codes.filter((code) => code === 'ok').length;
  const counted = await until(async () => {
    const [row] = await sql.all<{ calls: number; tokens: number }>(
      `SELECT count(*)::int AS calls, sum(prompt_tokens + completion_tokens)::int AS tokens FROM control.ai_usage
       WHERE model = 'up/budget'`,
    );
    return row!.calls >= calls ? row : null;
  });
  assert.deepEqual(counted, { calls, tokens: told });
});

test('a gateway that is asked to end has streams end with an error', async () => {
  answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const delta = { choices: [{ index: 0, delta: { role: 'assistant', content: 'first' }, finish_reason: null }] };
    response.write(`data: ${JSON.stringify(delta)}\n\n`);
  };
  const response = await post(chat('up/slow', { stream: true }));
  const reader = response.body!.getReader();
  let text = Buffer.from((await reader.read()).value!).toString();
  process.kill(await gatewayPid(), 'SIGTERM');
  for (let part = await reader.read(); !part.done; part = await reader.read())
    text += Buffer.from(part.value).toString();
  assert.match(text, /"content":"first"[^]*data: \{"error":\{"message":"The gateway is closing: try again"/);
  assert.ok(!text.includes('[DONE]'));
});

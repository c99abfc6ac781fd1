// env.AI and PLATFORM_AI_URL of a worker in `platform dev`, whose gateway answers from the mock provider.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { startGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider } from '#test/setup/model-provider.ts';

const worker = `
const tried = async (run) => {
  try { return { value: await run() }; }
  catch (error) {
    const { name, message, status, code, type, param, requestId } = error;
    return { name, message, status, code, type, param, hasId: /^req_/.test(requestId ?? ''), isError: error instanceof Error };
  }
};
const messages = [{ role: 'user', content: 'Say hello' }];

export default {
  async fetch(request, env) {
    const { AI, PLATFORM_AI_URL, PLATFORM_AI_TOKEN } = env;
    const ask = (path, init = {}) =>
      fetch(PLATFORM_AI_URL + path, { ...init, headers: { authorization: 'Bearer ' + PLATFORM_AI_TOKEN, ...init.headers } });
    const cases = {
      '/prompt': async () => (await AI.run('mock/echo', { prompt: 'Say hello' })).choices[0].message.content,
      '/messages': async () => (await AI.run('auto', { messages }, { metadata: { page: 7 } })).choices[0].message.content,
      '/stream': () => AI.run('mock/echo', { messages, stream: true }),
      '/read': async () => {
        let text = '';
        for await (const chunk of (await AI.run('mock/echo', { messages, stream: true })).pipeThrough(new TextDecoderStream())) text += chunk;
        return text.endsWith('data: [DONE]\\n\\n');
      },
      '/raw': async () => { const r = await AI.run('mock/echo', { messages }, { returnRawResponse: true }); return [r instanceof Response, r.status, r.headers.get('x-platform-model')]; },
      '/raw-refusal': async () => { const r = await AI.run('mock/none', { messages }, { returnRawResponse: true }); return [r.status, (await r.json()).error.code]; },
      '/fallback': async () => (await AI.run('mock/fail', { messages }, { fallbacks: ['mock/echo'] })).choices[0].message.content,
      '/models': async () => (await AI.models()).map(({ id }) => id).includes('mock/echo'),
      '/embeddings': async () => (await AI.run('mock/embed', { input: ['a', 'b'] })).data.map(({ embedding }) => embedding.length),
      '/texts': async () => (await AI.run('mock/embed', { text: ['a', 'b'] })).shape,
      '/unknown': () => tried(() => AI.run('mock/none', { messages })),
      '/invalid': () => tried(() => AI.run('mock/echo', { messages, temperature: 9 })),
      '/no-inputs': () => tried(() => AI.run('mock/echo')),
      '/headers': () => tried(() => AI.run('mock/echo', { messages }, { extraHeaders: { Authorization: 'Bearer x' } })),
      '/caller': () => tried(() => AI.run('mock/echo', { messages }, { extraHeaders: { 'x-platform-ai-caller': 'x' } })),
      '/aborted': () => tried(() => AI.run('mock/echo', { messages }, { signal: AbortSignal.abort() })),
      '/url': async () => (await ask('/v1/models')).status,
      '/url-chat': async () => (await (await ask('/chat/completions', { method: 'POST', body: JSON.stringify({ model: 'mock/echo', messages }) })).json()).choices[0].message.content,
      '/url-token': async () => { const r = await ask('/models', { headers: { authorization: 'Bearer pk_ai_x' } }); return [r.status, (await r.json()).error.code]; },
      '/url-caller': async () => (await fetch(PLATFORM_AI_URL + '/models', { headers: { 'x-platform-ai-caller': btoa(JSON.stringify({ kind: 'worker', organizationId: 'local', projectId: null, deploymentId: null, branch: null, plan: 'free', runId: null })) } })).status,
      '/keys': () => Object.keys(env.vars).filter((name) => name.includes('AI')).sort(),
    };
    const answer = await cases[new URL(request.url).pathname]();
    return answer instanceof ReadableStream ? new Response(answer, { headers: { 'content-type': 'text/event-stream' } }) : Response.json(answer);
  },
};`;

let folder: string;
let dev: TestDev;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-ai-'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'src/index.ts'), worker);
  await writeFile(join(folder, 'platform.yaml'), 'ai: true\n');
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = async (path: string, of = dev): Promise<unknown> => {
  const { status, text } = await of.fetch(path);
  assert.equal(status, 200, text);
  return JSON.parse(text);
};

test('a model is asked by a prompt, by messages, or as auto', async () => {
  assert.equal(await ask('/prompt'), 'Say hello');
  assert.equal(await ask('/messages'), 'Say hello');
});

test('a stream is the body of a response, or read in the worker', async () => {
  const { text, headers } = await dev.fetch('/stream');
  assert.match(String(headers['content-type']), /text\/event-stream/);
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: {'));
  const said = frames.map((frame) => JSON.parse(frame.slice(6)).choices[0]?.delta.content ?? '').join('');
  assert.equal(said, 'Say hello');
  assert.equal(await ask('/read'), true);
});

test('options choose other models and the raw answer', async () => {
  assert.deepEqual(await ask('/raw'), [true, 200, 'mock/echo']);
  assert.deepEqual(await ask('/raw-refusal'), [404, 'model_not_found']);
  assert.equal(await ask('/fallback'), 'Say hello');
});

test('models are listed, and texts embedded in both forms', async () => {
  assert.equal(await ask('/models'), true);
  assert.deepEqual(await ask('/embeddings'), [32, 32]);
  assert.deepEqual(await ask('/texts'), [2, 32]);
});

test('a refusal is an AiError with what the gateway said', async () => {
  const { message, ...unknown } = (await ask('/unknown')) as { message: string };
  assert.match(message, /none/);
  const common = { name: 'AiError', type: 'invalid_request_error', hasId: true, isError: true };
  assert.deepEqual(unknown, { ...common, status: 404, code: 'model_not_found', param: 'model' });
  const { message: why, ...invalid } = (await ask('/invalid')) as { message: string };
  assert.match(why, /temperature must be a number from 0 to 2/);
  assert.deepEqual(invalid, { ...common, status: 400, code: null, param: 'temperature' });
});

test('what a worker may not say is refused before anything is sent', async () => {
  const { name, message } = (await ask('/no-inputs')) as { name: string; message: string };
  assert.deepEqual([name, message], ['TypeError', 'run needs inputs: {prompt}, {messages} or {input}']);
  for (const [path, header] of [
    ['/headers', 'authorization'],
    ['/caller', 'x-platform-ai-caller'],
  ] as const)
    assert.equal(((await ask(path)) as { message: string }).message, `extraHeaders may not have ${header}`);
  assert.equal(((await ask('/aborted')) as { name: string }).name, 'AbortError');
});

test('PLATFORM_AI_URL leads to the same gateway, by the token alone', async () => {
  assert.equal(await ask('/url'), 200);
  assert.equal(await ask('/url-chat'), 'Say hello');
  assert.deepEqual(await ask('/url-token'), [401, 'invalid_api_key']);
  assert.equal(await ask('/url-caller'), 401);
});

test('the dashboard serves the gateway to what runs beside the worker', async () => {
  const [, url] = await dev.printed(/Dashboard (\S+)/);
  assert.equal((await fetch(`${url}/ai/models`)).status, 401);
  assert.equal((await fetch(`${url}/ai/models`, { headers: { origin: 'http://evil.example' } })).status, 403);
});

test('dev says where answers come from', async () => {
  await dev.printed(
    /^AI uses the mock provider with deterministic responses: set AI_PROVIDER_<NAME>_KIND to use another$/m,
  );
});

/** With variables, until `use` is through. */
async function withVariables(variables: string, use: (other: TestDev) => Promise<void>): Promise<void> {
  await writeFile(join(folder, '.env'), variables);
  const other = await startDevHere(folder);
  try {
    await use(other);
  } finally {
    await other.close();
    await rm(join(folder, '.env'));
  }
}

test('a provider of .env answers, and the worker does not see its key', async (t) => {
  const provider = await openModelProvider();
  t.after(() => provider.close());
  const variables = [
    'AI_PROVIDER_UP_KIND=openai',
    `AI_PROVIDER_UP_URL=${provider.url}`,
    'AI_PROVIDER_UP_KEY=sk-secret',
    'AI_AUTO=up/echo',
    'SEEN_AI=1',
  ];
  await withVariables(variables.join('\n'), async (other) => {
    assert.equal(await ask('/messages', other), MODEL_SAYS);
    assert.equal(provider.asked.at(-1)!.headers.authorization, 'Bearer sk-secret');
    assert.deepEqual(await ask('/keys', other), ['PLATFORM_AI_TOKEN', 'PLATFORM_AI_URL', 'SEEN_AI']);
    await other.printed(/^AI from up$/m);
  });
});

test('PLATFORM_DEV_AI_URL and its token are used as they are, by env.AI and by fetch', async (t) => {
  const gateway = await startGateway();
  t.after(() => gateway.close());
  const variables = `PLATFORM_DEV_AI_URL=${gateway.url}\nPLATFORM_DEV_AI_TOKEN=${gateway.token}\n`;
  await withVariables(variables, async (other) => {
    assert.equal(await ask('/prompt', other), 'Say hello');
    assert.equal(await ask('/url-chat', other), 'Say hello');
    assert.equal(await ask('/read', other), true);
    assert.deepEqual(
      (await gateway.rows()).map(({ caller }) => caller.organizationId),
      ['acme', 'acme', 'acme'],
    );
    assert.deepEqual(await ask('/keys', other), ['PLATFORM_AI_TOKEN', 'PLATFORM_AI_URL']);
    await other.printed(new RegExp(`^AI from ${gateway.url}$`, 'm'));
  });
});

test('one of the two alone, and a provider that says nothing of itself, are errors that say what to do', async () => {
  for (const [variables, said] of [
    ['PLATFORM_DEV_AI_URL=http://x', /PLATFORM_DEV_AI_TOKEN is not set, although PLATFORM_DEV_AI_URL is[^]*Set both/],
    ['PLATFORM_DEV_AI_TOKEN=x', /PLATFORM_DEV_AI_URL is not set, although PLATFORM_DEV_AI_TOKEN is[^]*Set both/],
    ['AI_PROVIDER_UP_KEY=x', /AI_PROVIDER_UP_KIND is not set[^]*docs\/ai\.md/],
  ] as const)
    await assert.rejects(
      withVariables(variables, () => Promise.resolve()),
      said,
    );
});

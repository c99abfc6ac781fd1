// The gateway's routes, errors and answers that are no streams.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePort } from '#test/setup/free-port.ts';
import { chat, providerAt, startGateway, testCaller, type TestGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider, type ModelProvider } from '#test/setup/model-provider.ts';
import { until } from '#test/setup/until.ts';

let provider: ModelProvider;
let gateway: TestGateway;
before(async () => {
  provider = await openModelProvider();
  gateway = await startGateway({
    table: {
      providers: [providerAt(provider.url), providerAt('http://127.0.0.1:9/v1', { name: 'down' })],
      aliases: { fast: 'up/echo', lost: 'nobody/x' },
      auto: ['up/fail', 'up/echo'],
    },
    limits: { bodyBytesMax: 10_000, retriesMax: 2, breakerFailuresMax: 1000 },
    price: (model) => (model === 'up/echo' ? { prompt: 1_000_000, completion: 2_000_000 } : null),
  });
});
after(async () => {
  await gateway.close();
  await provider.close();
});

interface Told {
  readonly error: { message: string; type: string; param: string | null; code: string | null };
}
const told = async (response: Response): Promise<Told['error']> => ((await response.json()) as Told).error;
const ask = (body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response> =>
  gateway.post('/chat/completions', body, headers);

test('an answer passes with all of its fields, and so does a request', async () => {
  const response = await ask(chat('up/echo', { seed: 7, unknown_field: { a: [1] }, models: ['up/other'] }));
  assert.equal(response.status, 200);
  assert.match(response.headers.get('x-request-id')!, /^req_[0-9a-f]{32}$/);
  assert.equal(response.headers.get('x-platform-model'), 'up/echo');
  assert.equal(response.headers.get('x-platform-attempts'), '1');
  const answer = (await response.json()) as { choices: { message: { content: string } }[]; usage: unknown };
  assert.equal(answer.choices[0]!.message.content, MODEL_SAYS);
  const { headers, body, path } = provider.asked.at(-1)!;
  assert.equal(path, '/v1/chat/completions');
  assert.equal(headers.authorization, 'Bearer sk-test');
  assert.deepEqual(body, { ...chat('echo'), seed: 7, unknown_field: { a: [1] } });
  const [row] = await gateway.rows();
  assert.deepEqual(
    [row!.model, row!.modelRequested, row!.promptTokens, row!.completionTokens, row!.costMicros, row!.status],
    ['up/echo', 'up/echo', 7, 5, 17, 200],
  );
  assert.deepEqual(row!.caller, testCaller);
});

test('both prefixes serve, and a caller that is known needs no token', async () => {
  const url = 'http://gateway.test';
  for (const prefix of ['/ai', '/ai/v1']) {
    const request = new Request(`${url}${prefix}/models`);
    assert.equal((await gateway.gateway.fetch(request, testCaller)).status, 200);
    assert.equal((await gateway.gateway.fetch(request)).status, 401);
  }
});

test('models are listed, and one is found by its name with a slash', async () => {
  const get = (path: string): Promise<Response> =>
    fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${gateway.token}` } });
  const list = (await (await get('/models')).json()) as { data: { id: string }[] };
  assert.deepEqual(
    list.data.map(({ id }) => id),
    ['auto', 'fast', 'lost', 'up/echo', 'down/echo'],
  );
  for (const path of ['/models/up/echo', '/models/up%2Fecho'])
    assert.equal(((await (await get(path)).json()) as { owned_by: string }).owned_by, 'up');
  assert.equal((await told(await get('/models/none'))).code, 'model_not_found');
});

test('embeddings pass', async () => {
  const response = await gateway.post('/embeddings', { model: 'up/embed', input: ['a', 'b'], dimensions: 2 });
  assert.equal(response.status, 200);
  assert.deepEqual(provider.asked.at(-1)!.body, { model: 'embed', input: ['a', 'b'], dimensions: 2 });
  const [row] = await gateway.rows();
  assert.deepEqual([row!.promptTokens, row!.completionTokens], [3, 0]);
  assert.equal((await told(await gateway.post('/embeddings', { model: 'up/embed', input: [] }))).param, 'input');
});

test('a wrong token, a wrong body and an unknown model have each their error', async () => {
  const cases: readonly (readonly [unknown, number, string | null, string | null])[] = [
    ['{', 400, null, null],
    ['[]', 400, null, null],
    [{ messages: [] }, 400, 'missing_required_parameter', 'model'],
    [{ model: 'up/echo' }, 400, 'missing_required_parameter', 'messages'],
    [{ model: 'up/echo', messages: [] }, 400, null, 'messages'],
    [{ model: 'up/echo', messages: [{ role: 'user', content: 5 }] }, 400, null, 'messages[0].content'],
    [{ model: 'up/echo', messages: [{ role: 'king', content: '' }] }, 400, null, 'messages[0].role'],
    [chat('up/echo', { temperature: 3 }), 400, null, 'temperature'],
    [chat('up/echo', { stream: 'yes' }), 400, null, 'stream'],
    [chat('up/echo', { max_tokens: 0 }), 400, null, 'max_tokens'],
    [chat('up/echo', { tools: [1] }), 400, null, 'tools'],
    [chat('nobody/echo'), 404, 'model_not_found', 'model'],
    [chat('lost'), 404, 'model_not_found', 'model'],
    [chat('__proto__'), 404, 'model_not_found', 'model'],
    [chat('up/echo', { models: ['nobody/x'] }), 404, 'model_not_found', 'model'],
    [chat('up/echo', { long: 'x'.repeat(20_000) }), 413, 'request_too_large', null],
  ];
  for (const [body, status, code, param] of cases) {
    const response = await ask(body);
    const error = await told(response);
    const shown = JSON.stringify(body).slice(0, 80);
    assert.deepEqual(
      [response.status, error.type, error.code, error.param],
      [status, 'invalid_request_error', code, param],
      shown,
    );
  }
  const wrong = await ask(chat('up/echo'), { authorization: `Bearer ${gateway.token}x` });
  assert.equal(wrong.status, 401);
  assert.equal((await told(wrong)).code, 'invalid_api_key');
});

test('a body without a length is bounded too', async () => {
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(5000));
    },
  });
  const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
  const response = await gateway.gateway.fetch(
    new Request('http://gateway.test/ai/chat/completions', init),
    testCaller,
  );
  assert.equal(response.status, 413);
});

test('other routes and methods are refused with what there is', async () => {
  for (const path of ['/messages', '/responses', '/completions']) {
    const refused = await gateway.post(path, {});
    assert.equal(refused.status, 404);
    const { message } = await told(refused);
    assert.ok(message.startsWith(`/ai${path} is not supported`) && message.includes(' /ai/chat/completions'), message);
  }
  assert.equal((await gateway.post('/models', {})).status, 405);
  assert.equal((await gateway.gateway.fetch(new Request('http://x/airport'), testCaller)).status, 404);
});

test('a provider that fails is tried again, then the next model', async () => {
  const again = await ask(chat('up/fail-then-ok'));
  assert.equal(again.status, 200);
  assert.equal(again.headers.get('x-platform-attempts'), '3');
  const auto = await ask(chat('auto'));
  assert.equal(auto.headers.get('x-platform-model'), 'up/echo');
  assert.equal(auto.headers.get('x-platform-attempts'), '4');
  const body = await ask(chat('down/x', { models: ['fast'] }));
  assert.equal(body.headers.get('x-platform-model'), 'up/echo');
  const header = await ask(chat('up/page'), { 'x-platform-fallbacks': 'down/x, fast' });
  assert.equal(header.headers.get('x-platform-model'), 'up/echo');
});

test('what speaks of the request is not tried again and passes', async () => {
  const before = provider.asked.length;
  const response = await ask(chat('up/bad-request', { models: ['fast'] }));
  assert.equal(response.status, 400);
  assert.deepEqual(await told(response), {
    message: 'too long',
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  });
  assert.equal(provider.asked.length, before + 1);
});

test('failures of providers are 429, 502 and 504, with nothing of keys and addresses in them', async () => {
  const limited = await ask(chat('up/ratelimit'));
  assert.equal(limited.status, 429);
  assert.equal(limited.headers.get('retry-after'), '7');
  assert.equal((await told(limited)).type, 'rate_limit_error');
  for (const model of ['up/fail', 'up/page', 'up/redirect', 'up/short-length', 'up/bad-key', 'down/x']) {
    const response = await ask(chat(model));
    const error = await told(response);
    assert.deepEqual([model, response.status, error.code], [model, 502, 'upstream_error']);
    assert.doesNotMatch(error.message, /sk-|127\.0\.0\.1/);
  }
  const late = await ask(chat('up/hang'), { 'x-platform-timeout-ms': '30' });
  assert.deepEqual([late.status, (await told(late)).code], [504, 'upstream_timeout']);
  assert.deepEqual(await provider.asked.at(-1)!.closed, { isCut: true });
  assert.equal((await ask(chat('up/echo'), { 'x-platform-timeout-ms': 'soon' })).status, 400);
});

test('a client that goes has the provider aborted, is not tried again, and pays for its request', async () => {
  const before = provider.asked.length;
  const gone = new AbortController();
  const asked = fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}` },
    body: JSON.stringify(chat('up/hang')),
    signal: gone.signal,
  });
  await until(() => provider.asked.length > before);
  gone.abort();
  await assert.rejects(asked);
  await provider.asked.at(-1)!.closed;
  const row = await until(async () => (await gateway.rows()).find(({ status }) => status === 499));
  assert.deepEqual([row.isEstimated, row.completionTokens, row.promptTokens > 0], [true, 0, true]);
  assert.equal(provider.asked.length, before + 1);
});

test('a request that has passed three gateways is refused', async () => {
  await ask(chat('up/echo'), { 'x-platform-ai-hops': '1' });
  assert.equal(provider.asked.at(-1)!.headers['x-platform-ai-hops'], '2');
  assert.equal((await told(await ask(chat('up/echo'), { 'x-platform-ai-hops': '3' }))).code, 'loop_detected');
  assert.equal((await told(await ask(chat('up/echo'), { 'x-platform-ai-hops': 'x' }))).code, 'loop_detected');
});

test('nothing of a prompt, an answer or a token is logged', () => {
  const log = gateway.lines.join('\n');
  assert.match(log, /upstream_error/);
  for (const secret of ['Say hello', 'Hello, world', gateway.token, 'sk-test', 'sk-secret'])
    assert.ok(!log.includes(secret), secret);
});

test('where nothing says what auto is, the error names the variable', async () => {
  const silent = await startGateway({ table: { auto: [] } });
  const { code, message } = await told(await silent.post('/chat/completions', chat('auto')));
  assert.equal(code, 'provider_not_configured');
  assert.match(
    message,
    /^The model "auto" is not configured: use provider\/model, or set it as the operator \(AI_AUTO\)/,
  );
  await silent.close();
});

test('an organization without providers is told so, and not to retry', async () => {
  const bare = await startGateway({ table: { providers: [] } });
  const response = await bare.post('/chat/completions', chat('auto'));
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('x-should-retry'), 'false');
  const { code, message } = await told(response);
  assert.equal(code, 'provider_not_configured');
  assert.match(message, /^No AI provider is set up: the operator sets AI_PROVIDER_<NAME>_KEY and AI_AUTO /);
  await bare.close();
});

test('a model that fails again and again is left alone for a while, then asked again', async () => {
  let at = 1_000_000;
  const careful = await startGateway({
    now: () => at,
    table: { providers: [providerAt(provider.url)] },
    limits: { retriesMax: 0, breakerFailuresMax: 2, breakerOpenMs: 5000 },
  });
  const post = (model: string): Promise<Response> => careful.post('/chat/completions', chat(model));
  const failing = [await post('up/fail-thrice'), await post('up/fail-thrice')];
  assert.deepEqual(
    failing.map(({ status, headers }) => [status, headers.get('retry-after')]),
    [
      [502, null],
      [502, '5'],
    ],
    'the failure that opens the circuit says how long',
  );
  const before = provider.asked.length;
  const refused = await post('up/fail-thrice');
  assert.equal(refused.status, 502);
  assert.equal(refused.headers.get('retry-after'), '5');
  assert.equal(provider.asked.length, before);
  at += 5000;
  assert.equal((await post('up/fail-thrice')).status, 502, 'one call tries it');
  assert.equal((await post('up/fail-thrice')).headers.get('x-platform-attempts'), '0');
  at += 5000;
  assert.equal((await post('up/fail-thrice')).status, 200);
  assert.equal((await post('up/fail-thrice')).status, 200);
  await careful.close();
});

test('a model that fails closes no other model of its provider, and a project that fails closes none to others', async () => {
  const down = `http://127.0.0.1:${await freePort()}/v1`;
  const careful = await startGateway({
    table: { providers: [providerAt(provider.url), providerAt(down, { name: 'down' })] },
    limits: { retriesMax: 0, breakerFailuresMax: 2 },
  });
  const attempts = async (model: string, caller: Partial<typeof testCaller> = {}): Promise<string | null> => {
    const body = JSON.stringify(chat(model));
    const headers = { 'content-type': 'application/json' };
    const request = new Request('http://gateway.test/ai/chat/completions', { method: 'POST', headers, body });
    const response = await careful.gateway.fetch(request, { ...testCaller, ...caller });
    return `${response.status} ${response.headers.get('x-platform-attempts')}`;
  };
  for (const model of ['up/fail', 'down/echo']) {
    assert.deepEqual([await attempts(model), await attempts(model)], ['502 1', '502 1']);
    assert.equal(await attempts(model), '502 0');
    assert.equal(await attempts(model, { projectId: 'blog' }), '502 1');
    assert.equal(await attempts(model, { projectId: null, keyId: 'key_1' }), '502 1');
    assert.equal(await attempts(model, { organizationId: 'other' }), '502 1');
  }
  assert.equal(await attempts('up/echo'), '200 1');
  assert.equal(await attempts('down/other'), '502 1');
  await careful.close();
});

test('a model says how long it is left alone, a minute at most, and one that refuses a request is back', async () => {
  let at = 1_000_000;
  const careful = await startGateway({
    now: () => at,
    table: { providers: [providerAt(provider.url)] },
    limits: { retriesMax: 0, breakerFailuresMax: 1, breakerOpenMs: 5000 },
  });
  const post = async (model: string): Promise<readonly unknown[]> => {
    const { status, headers } = await careful.post('/chat/completions', chat(`up/${model}`));
    return [status, headers.get('retry-after'), headers.get('x-platform-attempts')];
  };
  assert.deepEqual(await post('away-for-30'), [502, '30', '1']);
  at += 29_000;
  assert.deepEqual(await post('away-for-30'), [502, '1', '0']);
  assert.deepEqual(await post('away-for-a-day'), [502, '60', '1']);
  assert.deepEqual(await post('fail-then-refuse'), [502, '5', '1']);
  at += 5000;
  assert.deepEqual(await post('fail-then-refuse'), [400, null, '1']);
  assert.deepEqual(await post('fail-then-refuse'), [400, null, '1']);
  await careful.close();
});

test('refusals and answers that cannot be used open no circuit', async () => {
  const careful = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    limits: { retriesMax: 0, breakerFailuresMax: 1, answerBytesMax: 100_000 },
  });
  for (const model of ['page', 'bad-request', 'ratelimit', 'bad-key', 'huge'])
    for (const round of [1, 2]) {
      const { headers } = await careful.post('/chat/completions', chat(`up/${model}`));
      assert.notEqual(headers.get('x-platform-attempts'), '0', `${model} ${round}`);
    }
  for (const model of ['err/first', 'nothing'])
    for (const round of [1, 2]) {
      const { headers } = await careful.post('/chat/completions', chat(`up/${model}`, { stream: true }));
      assert.notEqual(headers.get('x-platform-attempts'), '0', `${model} ${round}`);
    }
  await careful.close();
});

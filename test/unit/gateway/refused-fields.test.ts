// Providers and models that refuse a field which the gateway can do without, or by another name: asked once more, and
// remembered. And what refusals say in their headers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openAnthropicProvider } from '#test/setup/anthropic-provider.ts';
import { chat, framesOf, providerAt, saidIn, startGateway, type TestGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider, type ModelProvider } from '#test/setup/model-provider.ts';

let provider: ModelProvider;
let gateway: TestGateway;
before(async () => {
  provider = await openModelProvider();
  const providers = [providerAt(provider.url), providerAt(provider.url, { name: 'other' })];
  gateway = await startGateway({ table: { providers }, limits: { retriesMax: 1, retryAfterMsMax: 0 } });
});
after(async () => {
  await gateway.close();
  await provider.close();
});

const ask = (model: string, more: object): Promise<Response> => gateway.post('/chat/completions', chat(model, more));
/** Attempts of a call that is answered well. */
async function attempts(model: string, more: object): Promise<string | null> {
  const response = await ask(model, more);
  assert.equal(response.status, 200, await response.clone().text());
  if ('stream' in more) assert.equal(saidIn(await framesOf(response)), MODEL_SAYS);
  return response.headers.get('x-platform-attempts');
}

test('a provider that refuses stream_options streams without it, and is asked so from then on', async () => {
  const stream = { stream: true, stream_options: { include_usage: true } };
  const response = await ask('up/strict', stream);
  const frames = await framesOf(response);
  assert.equal(response.headers.get('x-platform-attempts'), '2');
  assert.equal(saidIn(frames), MODEL_SAYS);
  const { usage } = JSON.parse(frames.at(-2)!) as { usage: { completion_tokens: number } };
  assert.equal(usage.completion_tokens, Math.ceil(MODEL_SAYS.length / 4), 'estimated, for who asked');
  assert.equal(await attempts('up/strict', stream), '1');
  assert.ok(!('stream_options' in provider.asked.at(-1)!.body));
  assert.equal(await attempts('other/strict', stream), '2', 'of each provider');
});

test('what a client asked for is not left out: it reads the refusal', async () => {
  const response = await ask('up/strict', { seed: 1 });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /supplied: seed/);
});

test('a model that wants the new name of max_tokens gets it, one that knows the old one alone gets that', async () => {
  assert.equal(await attempts('up/new-name', { max_tokens: 9 }), '2');
  assert.deepEqual(
    [provider.asked.at(-1)!.body['max_tokens'], provider.asked.at(-1)!.body['max_completion_tokens']],
    [undefined, 9],
  );
  assert.equal(await attempts('up/new-name', { max_tokens: 8 }), '1');
  // Two refusals, one after the other.
  assert.equal(await attempts('up/old-name', { max_completion_tokens: 9, stream: true }), '3');
  assert.equal(provider.asked.at(-1)!.body['max_tokens'], 9);
  assert.equal(await attempts('up/old-name', { max_completion_tokens: 9, stream: true }), '1');
});

test('a number that is too large is a refusal like others', async () => {
  const response = await ask('up/too-many', { max_tokens: 9 });
  assert.deepEqual([response.status, response.headers.get('x-platform-attempts')], [400, '1']);
});

test('an Anthropic model that does not think answers all the same', async () => {
  const anthropic = await openAnthropicProvider();
  const own = await startGateway({ table: { providers: [providerAt(anthropic.url, { kind: 'anthropic' })] } });
  for (const expected of ['2', '1']) {
    const response = await own.post('/chat/completions', chat('up/thoughtless', { reasoning_effort: 'high' }));
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal(response.headers.get('x-platform-attempts'), expected);
  }
  const explicit = { reasoning_effort: 'high', thinking: { type: 'adaptive' } };
  assert.equal((await own.post('/chat/completions', chat('up/thoughtless', explicit))).status, 400);
  await own.close();
  await anthropic.close();
});

test('a refusal names the model that was tried last, and how often any was', async () => {
  const response = await ask('up/fail', { models: ['other/ratelimit'] });
  assert.equal(response.status, 429);
  assert.equal(response.headers.get('x-platform-attempts'), '3');
  assert.equal(response.headers.get('x-platform-model'), 'other/ratelimit');
});

test('a refusal because a provider is left alone says that nothing was attempted', async () => {
  const wary = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    limits: { retriesMax: 0, breakerFailuresMax: 1 },
  });
  const attempted: (string | null)[] = [];
  for (let round = 0; round < 2; round += 1) {
    const { headers } = await wary.post('/chat/completions', chat('up/fail'));
    attempted.push(headers.get('x-platform-attempts'));
  }
  assert.deepEqual(attempted, ['1', '0']);
  await wary.close();
});

test('a refusal by a limit tells the limit', async () => {
  const limited = await startGateway({
    budget: [{ scope: 'project', of: 'requests', per: 'minute', most: 1 }],
    now: () => Date.UTC(2026, 0, 1, 0, 0, 20),
  });
  await limited.post('/chat/completions', chat('mock/echo'));
  const { status, headers } = await limited.post('/chat/completions', chat('mock/echo'));
  assert.deepEqual(
    [status, ...['limit', 'remaining', 'reset'].map((word) => headers.get(`x-ratelimit-${word}-requests`))],
    [429, '1', '0', '40s'],
  );
  assert.equal(headers.get('retry-after'), '40');
  await limited.close();
});

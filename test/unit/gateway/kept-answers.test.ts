// Answers that are given again: x-platform-cache-ttl and Idempotency-Key.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createAnswerStore } from '#gateway/answers/answer-store.ts';
import { createCompletionReader, framesOfCompletion } from '#gateway/answers/completion.ts';
import { chat, framesOf, providerAt, saidIn, startGateway, testCaller, type TestGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider, type ModelProvider } from '#test/setup/model-provider.ts';
import { until } from '#test/setup/until.ts';

let provider: ModelProvider;
let gateway: TestGateway;
const clock = { at: Date.UTC(2026, 0, 1) };
before(async () => {
  provider = await openModelProvider();
  gateway = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    limits: { retriesMax: 0, breakerFailuresMax: 1000 },
    now: () => clock.at,
  });
});
after(async () => {
  await gateway.close();
  await provider.close();
});
afterEach(() => provider.asked.splice(0));

const CACHE = { 'x-platform-cache-ttl': '60' };
const ask = (more: object, headers: Readonly<Record<string, string>>, model = 'echo'): Promise<Response> =>
  gateway.post('/chat/completions', chat(`up/${model}`, more), headers);
const cacheOf = (response: Response): string | null => response.headers.get('x-platform-cache');
const textOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content;

test('the same question within its time is answered from memory, whole and streamed either way', async () => {
  for (const [first, second] of [
    [{ top_p: 0.1 }, { top_p: 0.1, stream: true, user: 'someone' }],
    [{ top_p: 0.2, stream: true }, { top_p: 0.2 }],
  ]) {
    const before = provider.asked.length;
    const missed = await ask(first!, CACHE);
    assert.equal(cacheOf(missed), 'MISS');
    const frames = 'stream' in first! ? await framesOf(missed) : [];
    if (frames.length > 0) assert.equal(saidIn(frames), MODEL_SAYS);
    // Usage that we asked for is for us.
    assert.ok(frames.every((frame) => !frame.includes('"usage"')));
    const hit = await ask(second!, CACHE);
    assert.deepEqual([cacheOf(hit), hit.headers.get('x-platform-model')], ['HIT', 'up/echo']);
    const said = 'stream' in second! ? saidIn(await framesOf(hit)) : await textOf(hit);
    assert.equal(said, MODEL_SAYS);
    assert.equal(provider.asked.length - before, 1);
    const [row] = await gateway.rows();
    assert.deepEqual([row!.status, row!.promptTokens, row!.completionTokens], [200, 0, 0]);
  }
  clock.at += 60_001;
  assert.equal(cacheOf(await ask({ top_p: 0.1 }, CACHE)), 'MISS');
});

test('another question, another project and a time of 0 are asked anew', async () => {
  await ask({ seed: 1 }, CACHE);
  assert.equal(cacheOf(await ask({ seed: 2 }, CACHE)), 'MISS');
  assert.equal(cacheOf(await ask({ seed: 1 }, { 'x-platform-cache-ttl': '0' })), 'BYPASS');
  assert.equal(cacheOf(await ask({ seed: 1 }, {})), null);
  for (const other of [{ organizationId: 'other' }, { projectId: 'blog' }]) {
    const body = JSON.stringify(chat('up/echo', { seed: 1 }));
    const request = new Request('http://gateway.test/ai/chat/completions', { method: 'POST', body, headers: CACHE });
    assert.equal(cacheOf(await gateway.gateway.fetch(request, { ...testCaller, ...other })), 'MISS');
  }
  assert.equal(cacheOf(await ask({ seed: 1 }, CACHE)), 'HIT');
  assert.equal((await ask({}, { 'x-platform-cache-ttl': 'soon' })).status, 400);
});

test('what broke or was cut is not kept', async () => {
  for (const model of ['cut/mid', 'fail'])
    for (let round = 0; round < 2; round += 1) await (await ask({ stream: true }, CACHE, model)).text();
  assert.equal(provider.asked.length, 4);
});

test('the same call sent again with its key has the same answer, with another body 422', async () => {
  const key = { 'idempotency-key': 'k-1' };
  const first = await ask({ seed: 1 }, key);
  assert.equal(first.headers.get('idempotency-replayed'), null);
  const second = await ask({ seed: 1 }, key);
  assert.equal(second.headers.get('idempotency-replayed'), 'true');
  assert.equal(await textOf(second), await textOf(first));
  assert.equal(provider.asked.length, 1);
  const other = await ask({ seed: 2 }, key);
  assert.equal(other.status, 422);
  assert.equal(((await other.json()) as { error: { code: string } }).error.code, 'idempotency_mismatch');
  assert.equal((await ask({}, { 'idempotency-key': 'a b' })).status, 400);
  clock.at += 600_001;
  assert.equal((await ask({ seed: 2 }, key)).headers.get('idempotency-replayed'), null);
});

test('calls with a key at the same moment are one call, and after a failure the next one asks', async () => {
  const key = { 'idempotency-key': 'k-2' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask({ stream: true }, key)));
  const texts = await Promise.all(answers.map(async (response) => saidIn(await framesOf(response))));
  assert.deepEqual(new Set(texts), new Set([MODEL_SAYS]));
  assert.equal(provider.asked.length, 1);
  const failing = { 'idempotency-key': 'k-3' };
  const statuses = await Promise.all([1, 2, 3].map(async () => (await ask({}, failing, 'fail')).status));
  assert.deepEqual(statuses, [502, 502, 502]);
  assert.equal(provider.asked.length, 4);
});

test('who waits for a key is let go when the first one goes, and leaves it when it goes itself', async () => {
  const key = { 'idempotency-key': 'k-4' };
  const [first, second] = [new AbortController(), new AbortController()];
  const path = '/chat/completions';
  const body = chat('up/hang');
  const calls = [first, second].map(({ signal }) => gateway.post(path, body, key, signal).catch(() => null));
  await until(() => provider.asked.length === 1);
  first.abort();
  await until(() => provider.asked.length === 2);
  second.abort();
  assert.deepEqual(await Promise.all(calls), [null, null]);
  assert.deepEqual(await provider.asked.at(-1)!.closed, { isCut: true });
});

test('chunks of calls and thoughts become one answer, and that the same chunks again', () => {
  const { take, completion } = createCompletionReader();
  const delta = (fields: object, finish: string | null = null): void =>
    take({ id: 'c', model: 'm', choices: [{ index: 0, delta: fields, finish_reason: finish }] });
  delta({ role: 'assistant', content: '' });
  delta({ reasoning_content: 'Hm' });
  delta({ reasoning_content: 'm.' });
  const extra_content = { google: { thought_signature: 's' } };
  delta({
    tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'x', arguments: '' }, extra_content }],
  });
  delta({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'y', arguments: '{}' } }] });
  delta({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] });
  delta({ thinking_blocks: [{ signature: 't' }] }, 'tool_calls');
  const whole = completion();
  const [choice] = whole['choices'] as { message: Record<string, unknown>; finish_reason: string }[];
  assert.deepEqual(choice!.message, {
    role: 'assistant',
    content: '',
    reasoning_content: 'Hmm.',
    thinking_blocks: [{ signature: 't' }],
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'x', arguments: '{"a":1}' }, extra_content },
      { id: 'b', type: 'function', function: { name: 'y', arguments: '{}' } },
    ],
  });
  const again = createCompletionReader();
  for (const frame of framesOfCompletion(whole, false).split('\n\n'))
    if (frame.startsWith('data: {')) again.take(JSON.parse(frame.slice('data: '.length)));
  assert.deepEqual(again.completion(), whole);
});

test('answers are kept within a number of bytes, the one not asked for longest goes first', () => {
  const store = createAnswerStore({ now: () => 0, bytesMax: 10_000, answerBytesMax: 4_000 });
  store.set('large', 'x'.repeat(4_000), 1000);
  assert.equal(store.get('large'), null);
  for (const key of ['a', 'b', 'c']) store.set(key, 'x'.repeat(1_400), 1000);
  store.get('a');
  store.set('d', 'x'.repeat(1_400), 1000);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => store.get(key) !== null),
    [true, false, true, true],
  );
  for (let n = 0; n < 1000; n += 1) store.set(`k${n}`, 'x'.repeat(n), 1000);
  assert.ok(store.bytes() <= 10_000);
});

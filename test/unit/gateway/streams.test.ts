// Streams through the gateway, from a provider that breaks them in every way: the client gets the answer or an error.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { chat, framesOf, providerAt, saidIn, startGateway, testCaller, type TestGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider, type ModelProvider } from '#test/setup/model-provider.ts';
import { until } from '#test/setup/until.ts';

let provider: ModelProvider;
let gateway: TestGateway;
before(async () => {
  provider = await openModelProvider();
  gateway = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    limits: { retriesMax: 1, breakerFailuresMax: 1000 },
  });
});
after(async () => {
  await gateway.close();
  await provider.close();
});

const stream = (model: string, more: object = {}): Promise<Response> =>
  gateway.post('/chat/completions', chat(`up/${model}`, { stream: true, ...more }));

interface Row {
  readonly usage?: unknown;
  readonly error?: { readonly message: string; readonly type: string; readonly code: string };
}
const parsed = (frames: readonly string[]): Row[] =>
  frames.filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame) as Row);

test('a stream passes whole, ends in [DONE], and is not kept by anybody on the way', async () => {
  const response = await stream('echo');
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(response.headers.get('cache-control'), 'no-cache, no-transform');
  assert.equal(response.headers.get('x-accel-buffering'), 'no');
  const frames = await framesOf(response);
  assert.equal(saidIn(frames), MODEL_SAYS);
  assert.equal(frames.at(-1), '[DONE]');
});

test('pieces of calls of tools that come without an index get one', async () => {
  const frames = await framesOf(await stream('calls-uncounted'));
  const pieces = frames
    .filter((frame) => frame !== '[DONE]')
    .map((frame) => JSON.parse(frame) as { choices: { delta: { tool_calls?: Record<string, unknown>[] } }[] })
    .flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? []);
  assert.deepEqual(
    pieces.map(({ index, id, function: called }) => [index, id, called]),
    [
      [0, 'a', { name: 'add', arguments: '{"a":' }],
      [0, undefined, { arguments: '1}' }],
      [1, 'b', { name: 'add', arguments: '{}' }],
      [0, 'a', { arguments: ' ' }],
      [2, undefined, { name: 'sub', arguments: '{}' }],
    ],
  );
  assert.equal(frames.at(-1), '[DONE]');
});

test('usage is asked of the provider always, counted always, shown to who asked', async () => {
  const silent = parsed(await framesOf(await stream('echo')));
  assert.deepEqual(provider.asked.at(-1)!.body['stream_options'], { include_usage: true });
  assert.ok(silent.every((chunk) => !('usage' in chunk)));
  const [row] = await gateway.rows();
  assert.deepEqual([row!.promptTokens, row!.completionTokens, row!.isEstimated], [7, 5, false]);
  const asking = parsed(await framesOf(await stream('echo', { stream_options: { include_usage: true } })));
  assert.deepEqual(asking.at(-1)!.usage, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 });
});

test('a provider that tells no usage has it estimated, for the row and for who asked', async () => {
  const frames = parsed(await framesOf(await stream('no-usage', { stream_options: { include_usage: true } })));
  const { usage } = frames.at(-1) as { usage: { completion_tokens: number } };
  assert.equal(usage.completion_tokens, Math.ceil(MODEL_SAYS.length / 4));
  const [row] = await gateway.rows();
  assert.equal(row!.isEstimated, true);
  assert.equal(row!.completionTokens, usage.completion_tokens);
});

for (const model of ['utf8-split', 'crlf', 'no-done']) {
  test(`${model}: the answer is whole`, async () => {
    const frames = await framesOf(await stream(model));
    assert.equal(saidIn(frames), MODEL_SAYS);
    assert.equal(frames.at(-1), '[DONE]');
  });
}

test('huge: one event of 4 MB passes', async () => {
  assert.equal(saidIn(await framesOf(await stream('huge'))).length, 4_000_000);
});

for (const model of ['cut/mid', 'cut/done', 'reset/mid', 'half-event', 'no-json']) {
  test(`${model}: the stream ends in a frame with an error, and what was said is counted`, async () => {
    const frames = await framesOf(await stream(model));
    const last = parsed(frames).at(-1)!;
    assert.equal(last.error!.type, 'server_error');
    assert.equal(last.error!.code, 'upstream_error');
    assert.ok(!frames.includes('[DONE]'));
    const [row] = await gateway.rows();
    assert.equal(row!.status, 502);
    assert.equal(row!.isEstimated, true);
    assert.ok(row!.promptTokens > 0);
  });
}

test('err/mid: what the provider says of its failure passes', async () => {
  const last = parsed(await framesOf(await stream('err/mid'))).at(-1)!;
  assert.deepEqual(last.error, { message: 'overloaded', type: 'server_error', param: null, code: 'busy' });
});

test('hang/mid: a provider that falls silent is left, and the client told', async () => {
  const hasty = await startGateway({ table: { providers: [providerAt(provider.url)] }, limits: { streamIdleMs: 50 } });
  const response = await hasty.post('/chat/completions', chat('up/hang/mid', { stream: true }));
  const last = parsed(await framesOf(response)).at(-1)!;
  assert.equal(last.error!.code, 'upstream_timeout');
  assert.deepEqual(await provider.asked.at(-1)!.closed, { isCut: true });
  await hasty.close();
});

test('a stream that ends before it began is tried again', async () => {
  const response = await stream('begins-badly-then-ok');
  assert.equal(response.headers.get('x-platform-attempts'), '2');
  assert.equal(saidIn(await framesOf(response)), MODEL_SAYS);
});

test('a client that goes has the provider aborted, and pays for what it got', async () => {
  const patient = await startGateway({ table: { providers: [providerAt(provider.url)] } });
  try {
    const response = await patient.post('/chat/completions', chat('up/hang/mid', { stream: true }));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    assert.deepEqual(await provider.asked.at(-1)!.closed, { isCut: true });
    const [row] = await until(async () => {
      const rows = await patient.rows();
      return rows.length > 0 && rows;
    });
    assert.deepEqual([row!.status, row!.isEstimated, row!.completionTokens], [499, true, 1]);
  } finally {
    await patient.close();
  }
});

test('a client that goes has the provider aborted, though garbage was collected since it came', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (const more of [{}, { stream: true }]) {
    const gone = new AbortController();
    const before = provider.asked.length;
    const body = JSON.stringify(chat(`up/hang${'stream' in more ? '/mid' : ''}`, more));
    const request = { method: 'POST', body, signal: gone.signal };
    const answered = gateway.gateway.fetch(new Request('http://gateway.test/ai/chat/completions', request), testCaller);
    if ('stream' in more) await answered;
    const asked = await until(() => provider.asked[before]);
    for (let round = 0; round < 3; round += 1) {
      collect();
      await new Promise(setImmediate);
    }
    gone.abort();
    assert.deepEqual(await asked.closed, { isCut: true });
    await answered;
  }
});

test('a silent stream is kept open by comments', async () => {
  const lively = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    limits: { keepAliveMs: 5, streamIdleMs: 200 },
  });
  try {
    const text = await (await lively.post('/chat/completions', chat('up/hang/mid', { stream: true }))).text();
    assert.match(text, /\n\n: keepalive\n\n/);
  } finally {
    await lively.close();
  }
});

test('closing the gateway tells the clients of open streams', async () => {
  const closing = await startGateway({ table: { providers: [providerAt(provider.url)] } });
  const response = await closing.post('/chat/completions', chat('up/hang/mid', { stream: true }));
  const text = framesOf(response);
  await closing.gateway.close();
  assert.equal(parsed(await text).at(-1)!.error!.code, 'upstream_error');
  await closing.close();
});

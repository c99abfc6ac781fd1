// The gateway wire of the AI SDK without the SDK: what of a call becomes what of a request, and back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '#gateway/contract/chat.ts';
import type { ProviderConfig } from '#gateway/contract/contract.ts';
import { chatRequestOf } from '#gateway/routes/sdk/chat-request.ts';
import { contentOf } from '#gateway/routes/sdk/result.ts';
import type { SpecVersion } from '#gateway/routes/sdk/sdk-call.ts';
import { createPartReader } from '#gateway/routes/sdk/stream-parts.ts';
import { framesOf, providerAt, startGateway, type TestGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider, type ModelProvider } from '#test/setup/model-provider.ts';
import { until } from '#test/setup/until.ts';

let provider: ModelProvider;
let gateway: TestGateway;
before(async () => {
  provider = await openModelProvider();
  gateway = await startGateway({
    table: { providers: [providerAt(provider.url)], aliases: { fast: 'up/echo' } },
    limits: { retriesMax: 0, keepAliveMs: 20, bodyBytesMax: 10_000 },
    price: () => ({ prompt: 1_250_000, completion: 10_000_000 }),
  });
});
after(async () => {
  await gateway.close();
  await provider.close();
});

const hello = [{ role: 'user', content: [{ type: 'text', text: 'Say hello' }] }];
const named = (kind: string): ProviderConfig => ({ ...providerAt('http://x/v1'), kind: kind as 'openai' });
const translate = (options: Json, kind = 'openai') =>
  chatRequestOf({ prompt: hello, ...options }, { model: 'up/m', isStream: false, provider: named(kind) });

interface Posted {
  readonly version?: string;
  readonly model?: string;
  readonly stream?: boolean;
}
const ask = (body: unknown, { version = '4', model = 'up/echo', stream = false }: Posted = {}): Promise<Response> =>
  gateway.post('/sdk/language-model', body, {
    'ai-language-model-specification-version': version,
    'ai-language-model-id': model,
    'ai-language-model-streaming': String(stream),
  });
interface Part extends Record<string, unknown> {
  readonly type: string;
}
const partsOf = async (response: Response): Promise<Part[]> =>
  (await framesOf(response)).filter((text) => text !== '[DONE]').map((text) => JSON.parse(text) as Part);

test('settings, tools, formats and options have their names of the other wire', () => {
  const inputSchema = { type: 'object', properties: {} };
  const { request, warnings } = translate({
    maxOutputTokens: 9,
    temperature: 0.5,
    topP: 0.9,
    stopSequences: ['a'],
    seed: 1,
    reasoning: 'low',
    tools: [
      { type: 'function', name: 'f', description: 'F', inputSchema, strict: true },
      { type: 'provider', id: 'openai.search', name: 'search', args: {} },
    ],
    toolChoice: { type: 'tool', toolName: 'f' },
    responseFormat: { type: 'json', schema: inputSchema, name: 'answer' },
    providerOptions: {
      openai: { parallelToolCalls: false, textVerbosity: 'low', strictJsonSchema: false, metadata: { userId: 'x' } },
      anthropic: { thinking: { type: 'enabled' } },
      openaiCompatible: { own_field: 1 },
      gateway: { models: ['up/b'], user: 'u1', order: ['x'] },
    },
  });
  assert.deepEqual(request, {
    max_tokens: 9,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['a'],
    seed: 1,
    reasoning_effort: 'low',
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: inputSchema, strict: false } },
    tools: [{ type: 'function', function: { name: 'f', description: 'F', parameters: inputSchema, strict: true } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    verbosity: 'low',
    metadata: { userId: 'x' },
    own_field: 1,
    models: ['up/b'],
    user: 'u1',
    model: 'up/m',
    messages: [{ role: 'user', content: 'Say hello' }],
    stream: false,
  });
  assert.deepEqual(
    warnings.map(({ kind }) => kind),
    ['tool', 'other'],
  );
});

test('top k goes to providers that have it, and each provider gets the options of its kind', () => {
  assert.deepEqual(
    translate({ topK: 4 }).warnings.map(({ kind }) => kind),
    ['setting'],
  );
  assert.equal('top_k' in translate({ topK: 4 }).request, false);
  const thinking = { type: 'enabled', budgetTokens: 5 };
  const anthropic = translate({ topK: 4, providerOptions: { anthropic: { thinking } } }, 'anthropic');
  assert.equal(anthropic.request['top_k'], 4);
  assert.deepEqual(anthropic.request['thinking'], { type: 'enabled', budget_tokens: 5 });
  const google = translate({ providerOptions: { google: { thinkingConfig: { includeThoughts: true } } } }, 'google');
  assert.deepEqual(google.request['extra_body'], { google: { thinking_config: { include_thoughts: true } } });
});

test('files of all versions become parts, and messages keep what providers signed', () => {
  const base64 = Buffer.from('hi').toString('base64');
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0' } };
  const prompt = [
    { role: 'system', content: 'Be brief', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'file', mediaType: 'image/*', data: 'iVBORw0' },
        { type: 'file', mediaType: 'image/png', data: 'data:image/png;base64,iVBORw0' },
        { type: 'file', mediaType: 'image', data: { type: 'data', data: 'iVBORw0' } },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://x.test/a.png' } },
        { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: base64 },
        { type: 'file', mediaType: 'audio/wav', data: base64 },
        { type: 'file', mediaType: 'text/plain', data: base64 },
        { type: 'file', mediaType: 'text/plain', data: { type: 'reference', reference: { up: 'file-1' } } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's1' } } },
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        {
          type: 'tool-call',
          toolCallId: 'c1',
          toolName: 'f',
          input: { x: 1 },
          providerOptions: { google: { thoughtSignature: 's2' } },
        },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'f', output: { type: 'json', value: { y: 2 } } },
        { type: 'tool-approval-response', approvalId: 'a', approved: true },
        {
          type: 'tool-result',
          toolCallId: 'c2',
          toolName: 'f',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'see' },
              { type: 'media', data: 'iVBORw0', mediaType: 'image/png' },
            ],
          },
        },
      ],
    },
  ];
  assert.deepEqual(translate({ prompt }).request['messages'], [
    { role: 'system', content: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral' } }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        image,
        image,
        image,
        { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` } },
        { type: 'input_audio', input_audio: { data: base64, format: 'wav' } },
        { type: 'text', text: 'hi' },
        { type: 'file', file: { file_id: 'file-1' } },
      ],
    },
    {
      role: 'assistant',
      content: 'ab',
      reasoning_content: 'hm',
      thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's1' }],
      tool_calls: [
        {
          id: 'c1',
          type: 'function',
          function: { name: 'f', arguments: '{"x":1}' },
          extra_content: { google: { thought_signature: 's2' } },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"y":2}' },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'see' }, image] },
  ]);
});

test('a call that is wrong is told where', async () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [{}, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: [{ role: 'king', content: [] }] }, 'prompt[0].role'],
    [{ prompt: [{ role: 'user', content: 'x' }] }, 'prompt[0].content'],
    [{ prompt: [{ role: 'user', content: [{ type: 'text' }] }] }, 'prompt[0].content[0].text'],
    [{ prompt: [{ role: 'user', content: [{ type: 'video' }] }] }, 'prompt[0].content[0].type'],
    [
      { prompt: [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c' }] }] },
      'prompt[0].content[0].output',
    ],
    [{ prompt: hello, tools: [{ type: 'function' }] }, 'tools[0].name'],
    [{ prompt: hello, toolChoice: 'auto', tools: [{ type: 'function', name: 'f' }] }, 'toolChoice'],
    [{ prompt: hello, providerOptions: { gateway: { models: 'x' } } }, 'providerOptions.gateway.models'],
    [{ prompt: hello, providerOptions: { openai: 1 } }, 'providerOptions.openai'],
  ];
  for (const [body, param] of cases) {
    const response = await ask(body);
    const { error } = (await response.json()) as { error: { type: string; param: string } };
    assert.deepEqual([response.status, error.type, error.param], [400, 'invalid_request_error', param]);
  }
  for (const version of ['1', '5', 'x']) assert.equal((await ask({ prompt: hello }, { version })).status, 400);
  assert.equal((await ask({ prompt: hello, long: 'x'.repeat(20_000) })).status, 413);
});

test('versions differ in how they say why an answer ended and what it used', async () => {
  const answers = await Promise.all(
    ['2', '3', '4'].map(async (version) => (await (await ask({ prompt: hello }, { version })).json()) as Json),
  );
  for (const { content } of answers) assert.deepEqual(content, [{ type: 'text', text: MODEL_SAYS }]);
  const [two, three, four] = answers;
  assert.equal(two!['finishReason'], 'stop');
  assert.deepEqual(two!['usage'], {
    inputTokens: 7,
    outputTokens: 5,
    totalTokens: 12,
    reasoningTokens: 0,
    cachedInputTokens: 0,
  });
  assert.deepEqual(three!['finishReason'], { unified: 'stop', raw: 'stop' });
  assert.deepEqual(three!['usage'], {
    inputTokens: { total: 7, noCache: 7, cacheRead: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
    raw: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
  });
  assert.deepEqual(four!['usage'], three!['usage']);
  const [row] = await gateway.rows();
  assert.deepEqual([row!.model, row!.promptTokens, row!.completionTokens, row!.status], ['up/echo', 7, 5, 200]);
});

test('a stream begins and ends each of its texts, and a broken one ends in an error', async () => {
  const whole = await partsOf(await ask({ prompt: hello }, { stream: true, model: 'fast' }));
  assert.deepEqual(
    whole.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]),
    ['stream-start', 'response-metadata', 'text-start', 'text-delta', 'text-end', 'finish'],
  );
  assert.equal(whole.find(({ type }) => type === 'response-metadata')!['modelId'], 'up/echo');
  assert.equal(whole.map(({ delta }) => delta ?? '').join(''), MODEL_SAYS);
  const broken = await partsOf(await ask({ prompt: hello }, { stream: true, model: 'up/cut/mid' }));
  assert.deepEqual(
    broken.slice(-3).map(({ type }) => type),
    ['text-end', 'error', 'finish'],
  );
  const { error } = broken.at(-2) as unknown as { error: Json };
  assert.deepEqual([error['type'], error['code']], ['internal_server_error', 'upstream_error']);
  assert.deepEqual(broken.at(-1)!['finishReason'], { unified: 'error' });
  const raw = await partsOf(await ask({ prompt: hello, includeRawChunks: true }, { stream: true }));
  assert.ok(raw.some(({ type, rawValue }) => type === 'raw' && 'choices' in (rawValue as Json)));
});

test('a silent stream is kept open by comments, and closing it ends the provider’s', async () => {
  const before = provider.asked.length;
  const response = await ask({ prompt: hello }, { stream: true, model: 'up/hang/mid' });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(': keepalive')) text += (await reader.read()).value ?? assert.fail('it ended');
  await reader.cancel();
  assert.deepEqual(await provider.asked[before]!.closed, { isCut: true });
  const row = await until(async () => (await gateway.rows()).find(({ status }) => status === 499));
  assert.equal(row.modelRequested, 'up/hang/mid');
});

const chunk = (delta: Json, finish: string | null = null): Json => ({
  id: 'c1',
  created: 1,
  choices: [{ index: 0, delta, finish_reason: finish }],
});

test('signed thoughts and calls pass through a stream and through an answer alike', () => {
  const call = { id: 'k1', type: 'function', extra_content: { google: { thought_signature: 's2' } } };
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } };
  const reader = createPartReader({ version: 4, model: 'a/b', warnings: [], showsRaw: false, metadata: {} });
  const parts = [
    chunk({ reasoning_content: 'hm' }),
    chunk({ thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's1' }] }),
    chunk({ thinking_blocks: [{ type: 'redacted_thinking', data: 'xx' }] }),
    chunk({ content: 'a' }),
    chunk({ images: [image] }),
    chunk({ tool_calls: [{ index: 0, ...call, function: { name: 'f', arguments: '{"x"' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    chunk({ tool_calls: [{ index: 1, id: 'k2', function: { name: 'g', arguments: '' } }] }),
    chunk({}, 'tool_calls'),
  ].flatMap((one) => reader.take(one));
  const anthropic = (more: Json): Json => ({ providerMetadata: { anthropic: more } });
  const google = { providerMetadata: { google: { thoughtSignature: 's2' } } };
  assert.deepEqual(parts.slice(1), [
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'hm' },
    { type: 'reasoning-end', id: '0', ...anthropic({ signature: 's1' }) },
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-end', id: '1', ...anthropic({ redactedData: 'xx' }) },
    { type: 'text-start', id: '2' },
    { type: 'text-delta', id: '2', delta: 'a' },
    { type: 'text-end', id: '2' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    { type: 'tool-input-start', id: 'k1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'k1', delta: '{"x"' },
    { type: 'tool-input-delta', id: 'k1', delta: ':1}' },
    { type: 'tool-input-start', id: 'k2', toolName: 'g' },
    { type: 'tool-input-end', id: 'k1' },
    { type: 'tool-call', toolCallId: 'k1', toolName: 'f', input: '{"x":1}', ...google },
    { type: 'tool-input-end', id: 'k2' },
    { type: 'tool-call', toolCallId: 'k2', toolName: 'g', input: '{}' },
  ]);
  const message = {
    content: 'a',
    thinking_blocks: [
      { type: 'thinking', thinking: 'hm', signature: 's1' },
      { type: 'redacted_thinking', data: 'xx' },
    ],
    images: [image],
    tool_calls: [{ ...call, function: { name: 'f', arguments: '{"x":1}' } }],
  };
  const whole = (version: SpecVersion) => contentOf({ choices: [{ message, finish_reason: 'tool_calls' }] }, version);
  assert.deepEqual(whole(4), {
    content: [
      { type: 'reasoning', text: 'hm', ...anthropic({ signature: 's1' }) },
      { type: 'reasoning', text: '', ...anthropic({ redactedData: 'xx' }) },
      { type: 'text', text: 'a' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      { type: 'tool-call', toolCallId: 'k1', toolName: 'f', input: '{"x":1}', ...google },
    ],
    raw: 'tool_calls',
  });
  assert.equal(whole(3).content[3]!['data'], 'aGk=');
});

test('embeddings take one text or several, and models are listed with prices for the version that asks', async () => {
  const headers = { 'ai-embedding-model-specification-version': '2', 'ai-model-id': 'up/embed' };
  const one = await gateway.post('/sdk/embedding-model', { input: 'a' }, headers);
  assert.deepEqual((await one.json()) as unknown, {
    embeddings: [[0.1, 0.2]],
    usage: { tokens: 3 },
    warnings: [],
    providerMetadata: { gateway: { model: 'up/embed', requestId: one.headers.get('x-request-id') } },
  });
  await gateway.post('/sdk/embedding-model', { values: ['a'], dimensions: 2 }, headers);
  const { body } = provider.asked.at(-1)!;
  assert.deepEqual(body, { model: 'embed', input: ['a'], dimensions: 2, encoding_format: 'float' });
  const listed = await fetch(`${gateway.url}/sdk/config`, {
    headers: { authorization: `Bearer ${gateway.token}`, 'user-agent': 'ai-sdk/gateway/3.0.232' },
  });
  const { models } = (await listed.json()) as { models: Json[] };
  assert.deepEqual(models[0], {
    id: 'fast',
    name: 'fast',
    pricing: { input: '0.00000125', output: '0.00001' },
    specification: { specificationVersion: 'v3', provider: 'up', modelId: 'fast' },
  });
});

test('errors have types that choose the class of the client', async () => {
  const told = async (response: Response) => ((await response.json()) as { error: Json }).error;
  const unknown = await told(await ask({ prompt: hello }, { model: 'nobody/x' }));
  assert.deepEqual([unknown['type'], unknown['param']], ['model_not_found', { modelId: 'nobody/x' }]);
  const image = await gateway.post('/sdk/image-model', {}, { 'ai-model-id': 'up/x' });
  assert.equal(image.status, 404);
  assert.deepEqual((await told(image))['param'], { modelId: 'up/x' });
  assert.equal((await told(await ask({ prompt: hello }, { model: 'up/ratelimit' })))['type'], 'rate_limit_exceeded');
  assert.equal((await told(await ask({ prompt: hello }, { model: 'up/fail' })))['type'], 'internal_server_error');
  assert.equal(
    (await told(await ask({ prompt: hello }, { model: 'up/bad-request' })))['type'],
    'invalid_request_error',
  );
  const stranger = await gateway.post('/sdk/language-model', {}, { authorization: 'Bearer x' });
  assert.equal((await told(stranger))['type'], 'authentication_error');
  assert.equal((await told(await gateway.post('/sdk/credits', {})))['type'], 'not_found');
});

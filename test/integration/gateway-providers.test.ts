// The `openai` client through the gateway to providers of other wires: it reads the same of all of them.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import {
  ANTHROPIC_SAYS,
  ANTHROPIC_SIGNATURE,
  ANTHROPIC_THINKS,
  openAnthropicProvider,
} from '#test/setup/anthropic-provider.ts';
import { providerAt, startGateway, type TestGateway } from '#test/setup/gateway.ts';
import { GOOGLE_SAYS, GOOGLE_SIGNATURE, GOOGLE_THINKS, openGoogleProvider } from '#test/setup/google-provider.ts';
import { skipPackages } from '#test/setup/packages.ts';
import type { ModelProvider } from '#test/setup/provider-server.ts';
import { until } from '#test/setup/until.ts';

const require = createRequire(join(import.meta.dirname, '../packages/package.json'));
const load = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);

const PIXEL = 'iVBORw0KGgo=';
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const tools = ['weather', 'time'].map((name) => ({ type: 'function', function: { name, parameters } }));
const messages = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Hello' },
];

interface Played {
  readonly kind: 'anthropic' | 'google';
  readonly open: () => Promise<ModelProvider>;
  readonly model: string;
  readonly says: string;
  readonly thinks: string;
  readonly results: string;
  readonly usage: object;
  /** Where the wire puts a picture that is within the request, and one that is a link. */
  readonly pictures: (body: any) => unknown;
  readonly picturesAre: unknown;
}

const played: readonly Played[] = [
  {
    kind: 'anthropic',
    open: openAnthropicProvider,
    model: 'claude',
    says: ANTHROPIC_SAYS,
    thinks: ANTHROPIC_THINKS,
    results: 'Results: {"is":"rain"}, noon',
    // What was read from the cache and written to it is a part of the prompt.
    usage: { prompt: 30, completion: 11, cached: 7, reasoning: 0 },
    pictures: (body) => body.messages[0].content.slice(1).map(({ source }: any) => source),
    picturesAre: [
      { type: 'base64', media_type: 'image/png', data: PIXEL },
      { type: 'url', url: 'https://pictures.example/a.png' },
    ],
  },
  {
    kind: 'google',
    open: openGoogleProvider,
    model: 'gemini-3',
    says: GOOGLE_SAYS,
    thinks: GOOGLE_THINKS,
    results: 'Results: {"is":"rain"}, {"result":"noon"}',
    usage: { prompt: 20, completion: 13, cached: 7, reasoning: 4 },
    pictures: (body) => body.contents[0].parts.slice(1),
    picturesAre: [
      { inlineData: { mimeType: 'image/png', data: PIXEL } },
      { fileData: { fileUri: 'https://pictures.example/a.png', mimeType: 'image/png' } },
    ],
  },
];

interface Scene extends Played {
  readonly provider: ModelProvider;
  readonly gateway: TestGateway;
  readonly client: any;
}

function testBoth(title: string, run: (scene: Scene) => Promise<void>): void {
  for (const one of played) {
    test(`${one.kind}: ${title}`, { skip: skipPackages }, async () => {
      const { default: OpenAI } = await load('openai');
      const provider = await one.open();
      const gateway = await startGateway({
        table: {
          providers: [
            providerAt(provider.url, { kind: one.kind }),
            providerAt(provider.url, { kind: one.kind, name: 'keyless', key: 'sk-wrong' }),
          ],
        },
        limits: { retriesMax: 1, retryAfterMsMax: 0, breakerFailuresMax: 1000 },
      });
      try {
        const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.token, maxRetries: 0 });
        await run({ ...one, provider, gateway, client });
      } finally {
        await gateway.close();
        await provider.close();
      }
    });
  }
}

const usageOf = (usage: any): object => ({
  prompt: usage.prompt_tokens,
  completion: usage.completion_tokens,
  cached: usage.prompt_tokens_details.cached_tokens,
  reasoning: usage.completion_tokens_details.reasoning_tokens,
});

testBoth('an answer, whole and streamed, with what it used', async (scene) => {
  const { client, model, says, thinks, usage, gateway } = scene;
  const whole = await client.chat.completions.create({ model: `up/${model}`, messages, max_tokens: 50 });
  assert.equal(whole.choices[0].message.content, says);
  assert.equal(whole.choices[0].finish_reason, 'stop');
  assert.equal(whole.model, model);
  assert.deepEqual(usageOf(whole.usage), usage);
  for (const name of [model, 'utf8-split']) {
    const stream_options = { include_usage: true };
    const asked = { model: `up/${name}`, messages, stream: true, stream_options, reasoning_effort: 'low' };
    const stream = await client.chat.completions.create(asked);
    const chunks: any[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), says);
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.reasoning_content ?? '').join(''), thinks);
    assert.equal(chunks[0].choices[0].delta.role, 'assistant');
    assert.deepEqual(
      chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []),
      ['stop'],
    );
    assert.deepEqual(usageOf(chunks.at(-1).usage), usage);
    assert.equal(chunks.filter((chunk) => chunk.usage).length, 1);
  }
  const { prompt, completion } = usage as { prompt: number; completion: number };
  const rows = await until(async () => {
    const kept = await gateway.rows();
    return kept.length === 3 && kept;
  });
  for (const row of rows)
    assert.deepEqual([row.promptTokens, row.completionTokens, row.isEstimated], [prompt, completion, false]);
});

testBoth('two tools at once over several turns, thoughts signed and shown again', async (scene) => {
  const { client, model, provider, thinks, results, kind } = scene;
  const request = { model: `up/${model}`, tools, reasoning_effort: 'high' };
  for (const isStream of [false, true]) {
    const talk: any[] = [...messages];
    for (let turn = 0; turn < 2; turn += 1) {
      const said = isStream
        ? (await client.chat.completions.stream({ ...request, messages: talk }).finalChatCompletion()).choices[0]
        : (await client.chat.completions.create({ ...request, messages: talk })).choices[0];
      assert.equal(said.finish_reason, 'tool_calls');
      const calls = said.message.tool_calls;
      assert.deepEqual(
        calls.map((call: any) => [call.function.name, JSON.parse(call.function.arguments)]),
        [
          ['weather', { city: 'Zürich', at: [1, 2] }],
          ['time', {}],
        ],
      );
      // The client's own reader of streams keeps the last piece of a field that it does not know.
      if (isStream) assert.ok(thinks.endsWith(said.message.reasoning_content));
      else assert.equal(said.message.reasoning_content, thinks);
      const contents = ['{"is":"rain"}', 'noon'];
      talk.push(
        said.message,
        ...calls.map(({ id }: any, nth: number) => ({ role: 'tool', tool_call_id: id, content: contents[nth] })),
      );
      const answered = await client.chat.completions.create({ ...request, messages: talk });
      assert.equal(answered.choices[0].message.content, results);
      assert.equal(answered.choices[0].finish_reason, 'stop');
      // What the provider signed has come back to it.
      const sent = JSON.stringify(provider.asked.at(-1)!.body);
      assert.ok(sent.includes(kind === 'anthropic' ? ANTHROPIC_SIGNATURE : GOOGLE_SIGNATURE));
      if (kind === 'anthropic') assert.ok(sent.includes('EmwKAhgBEgy3va3pzix'), 'the redacted thought');
      talk.push(answered.choices[0].message, { role: 'user', content: 'Again' });
    }
  }
});

testBoth('a talk with tools that another provider began goes on here', async ({ client, model, results }) => {
  const called = (id: string, name: string, text: string): object => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  });
  const talk = [
    ...messages,
    {
      role: 'assistant',
      content: '',
      // The model of another provider wrote arguments that are no JSON.
      tool_calls: [called('call_1', 'weather', '{"city":'), called('call_2', 'time', '')],
    },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '{"is":"rain"}' }] },
    { role: 'tool', tool_call_id: 'call_2', content: 'noon' },
  ];
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  const answer = await client.chat.completions.create({ model: `up/${model}`, messages: talk, tools, thinking });
  assert.equal(answer.choices[0].message.content, results);
});

testBoth('pictures within the request and by URL, a schema for the answer', async (scene) => {
  const { client, model, provider, pictures, picturesAre } = scene;
  const image = (url: string): object => ({ type: 'image_url', image_url: { url } });
  const content = [
    { type: 'text', text: 'What is it?' },
    image(`data:image/png;base64,${PIXEL}`),
    image('https://pictures.example/a.png'),
  ];
  await client.chat.completions.create({ model: `up/${model}`, messages: [{ role: 'user', content }] });
  assert.deepEqual(pictures(provider.asked.at(-1)!.body), picturesAre);
  const local = [{ role: 'user', content: [image('http://127.0.0.1/a.png')] }];
  await assert.rejects(client.chat.completions.create({ model: `up/${model}`, messages: local }), {
    status: 400,
    param: 'messages[0].content[0].image_url.url',
  });
  const schema = { type: 'object', properties: { city: { type: 'string', minLength: 2 } }, required: ['city'] };
  const response_format = { type: 'json_schema', json_schema: { name: 'place', schema } };
  const answer = await client.chat.completions.create({ model: `up/${model}`, messages, response_format });
  assert.deepEqual(JSON.parse(answer.choices[0].message.content), { city: 'Bern' });
});

testBoth('what the provider refuses is an error of this wire', async ({ client, provider, kind }) => {
  const ask = (model: string): Promise<unknown> => client.chat.completions.create({ model, messages });
  const cases: [string, number, string][] = [
    ['up/too-long', 400, 'context_length_exceeded'],
    ['up/no-model', 404, 'model_not_found'],
    ['up/ratelimit', 429, 'rate_limit_exceeded'],
    ['up/broken', 502, 'upstream_error'],
    ['up/overloaded', 502, 'upstream_error'],
    ['keyless/any', 502, 'upstream_error'],
  ];
  for (const [model, status, code] of cases) {
    const before = provider.asked.length;
    await assert.rejects(ask(model), (error: any) => {
      assert.deepEqual([error.status, error.code], [status, code], model);
      assert.ok(!error.message.includes('sk-'), 'no key');
      if (status === 429) assert.equal(error.headers.get('retry-after'), '7');
      return true;
    });
    const isRetried = model === 'up/broken' || model === 'up/overloaded';
    assert.equal(provider.asked.length - before, isRetried ? 2 : 1, `attempts of ${model}`);
  }
  if (kind === 'anthropic') await assert.rejects(ask('up/too-large'), { status: 413 });
});

testBoth('a stream that breaks ends in an error', async ({ client }) => {
  for (const [model, code] of [
    ['overloaded-mid', /overloaded_error|unavailable/],
    ['cut-mid', /upstream_error/],
    ['half-event', /upstream_error/],
  ] as const) {
    const stream = await client.chat.completions.create({ model: `up/${model}`, messages, stream: true });
    const read = async (): Promise<void> => {
      for await (const chunk of stream) void chunk;
    };
    await assert.rejects(read(), (error: any) => code.test(error.code), model);
  }
});

testBoth('a client that goes has the provider aborted', async ({ client, provider, gateway, usage }) => {
  const stream = await client.chat.completions.create({ model: 'up/hang-mid', messages, stream: true });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
  assert.deepEqual(await provider.asked.at(-1)!.closed, { isCut: true });
  const [row] = await until(async () => {
    const rows = await gateway.rows();
    return rows.length > 0 && rows;
  });
  // The provider had told what the prompt was.
  assert.deepEqual([row!.status, row!.promptTokens], [499, (usage as { prompt: number }).prompt]);
});

testBoth(
  'fields that it has no word for are left out, others are put in its words',
  async ({ client, model, provider }) => {
    const more = {
      temperature: 1.5,
      top_p: 0.5,
      seed: 1,
      logit_bias: {},
      metadata: { a: 'b' },
      stop: 'END',
      user: 'u1',
    };
    const tool_choice = { type: 'function', function: { name: 'time' } };
    await client.chat.completions.create({ model: `up/${model}`, messages, tools, tool_choice, ...more });
    const { body } = provider.asked.at(-1)! as any;
    const found = body.generationConfig
      ? [body.generationConfig.stopSequences, body.toolConfig.functionCallingConfig, body.systemInstruction.parts]
      : [body.stop_sequences, body.tool_choice, body.system.map(({ text }: any) => ({ text }))];
    assert.deepEqual(found[0], ['END']);
    assert.deepEqual(
      found[1],
      body.generationConfig ? { mode: 'ANY', allowedFunctionNames: ['time'] } : { type: 'tool', name: 'time' },
    );
    assert.deepEqual(found[2], [{ text: 'Be kind.' }]);
  },
);

test(
  'anthropic: refusals, an answer of one length where none is named, no embeddings',
  { skip: skipPackages },
  async () => {
    const provider = await openAnthropicProvider();
    const gateway = await startGateway({ table: { providers: [providerAt(provider.url, { kind: 'anthropic' })] } });
    const ask = async (more: object): Promise<any> =>
      (await gateway.post('/chat/completions', { model: 'up/refuses', messages, ...more })).json();
    const [choice] = (await ask({})).choices;
    assert.deepEqual([choice.finish_reason, choice.message.refusal], ['content_filter', 'No.']);
    assert.equal(provider.asked.at(-1)!.body['max_tokens'], 4096);
    assert.equal((await ask({ n: 2 })).error.param, 'n');
    const refused = await gateway.post('/embeddings', { model: 'up/x', input: 'a' });
    assert.equal(refused.status, 404);
    await gateway.close();
    await provider.close();
  },
);

test(
  'google: embeddings, blocked prompts, unsafe answers, names that would leave the path',
  { skip: skipPackages },
  async () => {
    const provider = await openGoogleProvider();
    const gateway = await startGateway({
      table: { providers: [providerAt(provider.url, { kind: 'google' })] },
      limits: { retriesMax: 0 },
    });
    const input = ['a', 'b'];
    const embedded: any = await (await gateway.post('/embeddings', { model: 'up/embed', input, dimensions: 2 })).json();
    assert.deepEqual(
      embedded.data.map(({ embedding }: any) => embedding),
      [
        [0.5, -0.25],
        [0.5, -0.25],
      ],
    );
    const based: any = await (
      await gateway.post('/embeddings', { model: 'up/embed', input: 'a', encoding_format: 'base64' })
    ).json();
    assert.deepEqual(
      [...new Float32Array(Uint8Array.from(Buffer.from(based.data[0].embedding, 'base64')).buffer)],
      [0.5, -0.25, 1],
    );
    const { default: OpenAI } = await load('openai');
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.token, maxRetries: 0 });
    for (const stream of [false, true]) {
      for (const model of ['blocked', 'unsafe']) {
        const answer = stream
          ? await client.chat.completions.stream({ model: `up/${model}`, messages }).finalChatCompletion()
          : await client.chat.completions.create({ model: `up/${model}`, messages });
        assert.equal(answer.choices[0].finish_reason, 'content_filter', model);
      }
      const malformed = await gateway.post('/chat/completions', { model: 'up/malformed', messages, stream });
      assert.match(await malformed.text(), /MALFORMED_FUNCTION_CALL/);
    }
    for (const name of ['../../v1/secrets', 'a?key=b', 'a#b', '..', 'ä\ud800'])
      await gateway.post('/chat/completions', { model: `up/${name}`, messages });
    for (const { path } of provider.asked) assert.match(path, /^\/v1beta\/models\/[^/?#]+:[A-Za-z]+(\?alt=sse)?$/);
    await gateway.close();
    await provider.close();
  },
);

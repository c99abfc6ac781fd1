// Clients as their users install them, against the gateway with the mock provider: what they read is what it said.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { startGateway, type TestGateway } from '#test/setup/gateway.ts';
import { skipPackages } from '#test/setup/packages.ts';

const require = createRequire(join(import.meta.dirname, '../packages/package.json'));
/** A package of test/packages: none of the repository's own dependencies. */
const load = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);

const options = { skip: skipPackages };
let gateway: TestGateway;
before(async () => {
  gateway = await startGateway();
});
after(() => gateway.close());

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test('openai: chat, stream with usage, tools, embeddings, models, errors', options, async () => {
  const { default: OpenAI } = await load('openai');
  for (const baseURL of [gateway.url, `${gateway.url}/v1`]) {
    const client = new OpenAI({ baseURL, apiKey: gateway.token });
    const messages = [{ role: 'user', content: 'Say hello' }];
    const answer = await client.chat.completions.create({ model: 'mock/echo', messages });
    assert.equal(answer.choices[0].message.content, 'Say hello');
    assert.match(answer._request_id, /^req_/);
    const stream_options = { include_usage: true };
    const stream = await client.chat.completions.create({ model: 'mock/echo', messages, stream: true, stream_options });
    let text = '';
    let usage: { total_tokens: number } | null = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, 'Say hello');
    assert.equal(usage!.total_tokens, answer.usage.total_tokens);
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
    const called = await client.chat.completions.create({ model: 'mock/tools', messages, tools });
    assert.equal(called.choices[0].message.tool_calls[0].function.arguments, '{"city":"x"}');
    const embedded = await client.embeddings.create({ model: 'mock/embed', input: ['a', 'b'] });
    assert.deepEqual(
      embedded.data.map(({ embedding }: { embedding: number[] }) => embedding.length),
      [32, 32],
    );
    assert.equal((await client.models.retrieve('mock/echo')).owned_by, 'mock');
    await assert.rejects(client.chat.completions.create({ model: 'mock/none', messages }), {
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
    await assert.rejects(new OpenAI({ baseURL, apiKey: 'x' }).models.list(), { status: 401, code: 'invalid_api_key' });
  }
});

for (const [major, ai, compatible] of [
  [5, 'ai5', 'oc5'],
  [6, 'ai6', 'oc6'],
  [7, 'ai', 'oc7'],
] as const) {
  test(`ai ${major} with @ai-sdk/openai-compatible: text, stream, tools in steps, embeddings`, options, async () => {
    const sdk = await load(ai);
    const { createOpenAICompatible } = await load(compatible);
    const provider = createOpenAICompatible({
      name: 'platform',
      baseURL: gateway.url,
      apiKey: gateway.token,
      includeUsage: true,
    });
    const whole = await sdk.generateText({ model: provider('mock/echo'), prompt: 'Say hello' });
    assert.equal(whole.text, 'Say hello');
    const stream = sdk.streamText({ model: provider('mock/echo'), prompt: 'Say hello' });
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    assert.equal(text, 'Say hello');
    assert.equal(await stream.finishReason, 'stop');
    assert.equal((await stream.usage).inputTokens, whole.usage.inputTokens);
    const asked: unknown[] = [];
    const weather = sdk.tool({
      description: 'The weather',
      inputSchema: sdk.jsonSchema(parameters),
      execute: (input: unknown) => {
        asked.push(input);
        return 'rain';
      },
    });
    const stopWhen = (sdk.isStepCount ?? sdk.stepCountIs)(3);
    const steps = await sdk.generateText({
      model: provider('mock/tools'),
      prompt: 'Weather?',
      tools: { weather },
      stopWhen,
    });
    assert.deepEqual(asked, [{ city: 'x' }]);
    assert.match(steps.text, /rain/);
    const streamed = sdk.streamText({
      model: provider('mock/tools'),
      prompt: 'Weather?',
      tools: { weather },
      stopWhen,
    });
    assert.match(await streamed.text, /rain/);
    assert.equal(asked.length, 2);
    const embeddingModel = provider.embeddingModel ?? provider.textEmbeddingModel;
    const { embedding } = await sdk.embed({ model: embeddingModel.call(provider, 'mock/embed'), value: 'a' });
    assert.equal(embedding.length, 32);
  });
}

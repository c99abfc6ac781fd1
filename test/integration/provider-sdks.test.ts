// The providers that tests play, seen by the providers' own SDKs: what these read is what the wires are.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import {
  ANTHROPIC_SAYS,
  ANTHROPIC_SIGNATURE,
  ANTHROPIC_THINKS,
  anthropicUsage,
  openAnthropicProvider,
} from '#test/setup/anthropic-provider.ts';
import { GOOGLE_SAYS, googleUsage, openGoogleProvider } from '#test/setup/google-provider.ts';
import { skipPackages } from '#test/setup/packages.ts';

const require = createRequire(join(import.meta.dirname, '../packages/package.json'));
const load = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);
const options = { skip: skipPackages };

test('@anthropic-ai/sdk: message, stream, tools, thinking, errors', options, async (t) => {
  const { default: Anthropic } = await load('@anthropic-ai/sdk');
  const provider = await openAnthropicProvider();
  t.after(() => provider.close());
  const client = new Anthropic({ baseURL: provider.url.replace('/v1', ''), apiKey: 'sk-test', maxRetries: 0 });
  const messages = [{ role: 'user', content: 'Hello' }];
  const whole = await client.messages.create({ model: 'claude', max_tokens: 100, messages });
  assert.equal(whole.content[0].text, ANTHROPIC_SAYS);
  assert.equal(whole.stop_reason, 'end_turn');

  const tools = ['weather', 'time'].map((name) => ({ name, input_schema: { type: 'object' } }));
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  const params = { model: 'utf8-split', max_tokens: 2000, messages, tools, thinking };
  const streamed = await client.messages.stream(params).finalMessage();
  assert.deepEqual(streamed.content[0], {
    type: 'thinking',
    thinking: ANTHROPIC_THINKS,
    signature: ANTHROPIC_SIGNATURE,
  });
  const calls = streamed.content.filter(({ type }: { type: string }) => type === 'tool_use');
  assert.deepEqual(
    calls.map(({ input }: { input: unknown }) => input),
    [{ city: 'Zürich', at: [1, 2] }, {}],
  );
  assert.equal(streamed.stop_reason, 'tool_use');
  assert.deepEqual(
    { ...streamed.usage },
    { ...anthropicUsage },
    'the totals of the last event beside the input of the first',
  );
  const results = calls.map(({ id }: { id: string }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: [{ type: 'text', text: 'rain' }],
  }));
  const next = {
    ...params,
    messages: [...messages, { role: 'assistant', content: streamed.content }, { role: 'user', content: results }],
  };
  assert.equal((await client.messages.create(next)).content.at(-1).text, 'Results: rain, rain');
  const unanswered = { ...params, messages: next.messages.slice(0, 2).concat(messages) };
  await assert.rejects(client.messages.create(unanswered), Anthropic.BadRequestError);

  for (const [model, kind] of [
    ['no-model', Anthropic.NotFoundError],
    ['ratelimit', Anthropic.RateLimitError],
    ['overloaded', Anthropic.InternalServerError],
  ])
    await assert.rejects(client.messages.create({ ...params, model }), kind);
  await assert.rejects(
    client.messages.stream({ ...params, model: 'overloaded-mid' }).finalMessage(),
    /overloaded_error/,
  );
});

test('@google/genai: content, stream, tools, blocked prompt, embeddings, errors', options, async (t) => {
  const { GoogleGenAI } = await load('@google/genai');
  const provider = await openGoogleProvider();
  t.after(() => provider.close());
  const client = new GoogleGenAI({ apiKey: 'sk-test', httpOptions: { baseUrl: provider.url.replace('/v1beta', '') } });
  const contents = 'Hello';
  const whole = await client.models.generateContent({ model: 'gemini-2.5', contents });
  assert.equal(whole.text, GOOGLE_SAYS);
  assert.equal(whole.usageMetadata.totalTokenCount, googleUsage.totalTokenCount);
  let text = '';
  let last: any;
  for await (const chunk of await client.models.generateContentStream({ model: 'utf8-split', contents })) {
    text += chunk.text ?? '';
    last = chunk;
  }
  assert.equal(text, GOOGLE_SAYS);
  assert.equal(last.candidates[0].finishReason, 'STOP');
  assert.equal(last.usageMetadata.candidatesTokenCount, googleUsage.candidatesTokenCount);

  const functionDeclarations = ['weather', 'time'].map((name) => ({ name, parametersJsonSchema: { type: 'object' } }));
  const chat = client.chats.create({ model: 'gemini-3', config: { tools: [{ functionDeclarations }] } });
  const called = await chat.sendMessage({ message: 'Weather?' });
  assert.deepEqual(
    called.functionCalls.map(({ name }: { name: string }) => name),
    ['weather', 'time'],
  );
  const message = called.functionCalls.map(({ id, name }: { id: string; name: string }) => ({
    functionResponse: { id, name, response: { is: 'rain' } },
  }));
  assert.equal((await chat.sendMessage({ message })).text, 'Results: {"is":"rain"}, {"is":"rain"}');

  const blocked = await client.models.generateContent({ model: 'blocked', contents });
  assert.equal(blocked.promptFeedback.blockReason, 'SAFETY');
  const embedded = await client.models.embedContent({ model: 'embed', contents: ['a', 'b'] });
  assert.deepEqual(
    embedded.embeddings.map(({ values }: { values: number[] }) => values.length),
    [3, 3],
  );
  await assert.rejects(client.models.generateContent({ model: 'ratelimit', contents }), { status: 429 });
  await assert.rejects(client.models.generateContent({ model: 'no-model', contents }), { status: 404 });
});

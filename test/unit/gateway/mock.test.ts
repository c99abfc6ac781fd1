// The mock provider through the gateway: offline, and the same answer every time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chat, framesOf, saidIn, startGateway, type TestGateway } from '#test/setup/gateway.ts';

let gateway: TestGateway;
before(async () => {
  gateway = await startGateway({ limits: { retriesMax: 0 } });
});
after(() => gateway.close());

const ask = (model: string, more?: object): Promise<Response> =>
  gateway.post('/chat/completions', chat(`mock/${model}`, more));
const tools = [
  {
    type: 'function',
    function: {
      name: 'weather',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string', minLength: 2 }, days: { type: 'integer', minimum: 3 }, more: {} },
        required: ['city', 'days'],
      },
    },
  },
];

test('echo says the last user message, the same at each call, whole and as a stream', async () => {
  const first = await (await ask('echo')).text();
  assert.equal(first, await (await ask('echo')).text());
  assert.equal((JSON.parse(first) as { model: string }).model, 'mock/echo');
  const frames = await framesOf(await ask('echo', { stream: true }));
  assert.equal(saidIn(frames), 'Say hello');
  assert.ok(frames.length > 4);
  const rows = await gateway.rows();
  assert.deepEqual(
    [rows[0]!.promptTokens, rows[0]!.completionTokens],
    [rows[1]!.promptTokens, rows[1]!.completionTokens],
  );
  assert.equal(rows[0]!.isEstimated, false);
});

test('tools calls the first tool with arguments that fit, and says what came back', async () => {
  const answer = (await (await ask('tools', { tools })).json()) as {
    choices: { finish_reason: string; message: { tool_calls: { id: string; function: { arguments: string } }[] } }[];
  };
  const [{ finish_reason, message }] = answer.choices as [(typeof answer.choices)[0]];
  assert.equal(finish_reason, 'tool_calls');
  assert.deepEqual(JSON.parse(message.tool_calls[0]!.function.arguments), { city: 'xx', days: 3 });
  const result = { role: 'tool', tool_call_id: message.tool_calls[0]!.id, content: 'rain' };
  const messages = [{ role: 'user', content: 'Weather?' }, { role: 'assistant', ...message }, result];
  const second = (await (await ask('tools', { tools, messages })).json()) as typeof answer;
  assert.equal((second.choices[0]!.message as unknown as { content: string }).content, 'The tool says: rain');
});

test('tools calls the tool that the message names, with the JSON in it', async () => {
  const named = [...tools, { type: 'function', function: { name: 'remind', parameters: { type: 'object' } } }];
  const callOf = async (content: string): Promise<unknown> => {
    const answer = (await (await ask('tools', { tools: named, messages: [{ role: 'user', content }] })).json()) as {
      choices: { message: { tool_calls: { function: unknown }[] } }[];
    };
    return answer.choices[0]!.message.tool_calls[0]!.function;
  };
  assert.deepEqual(await callOf('Please remind {"of":{"x":1}} now'), { name: 'remind', arguments: '{"of":{"x":1}}' });
  assert.deepEqual(await callOf('remind {'), { name: 'remind', arguments: '{}' });
  assert.deepEqual(await callOf('{"of":1}'), { name: 'weather', arguments: '{"city":"xx","days":3}' });
});

test('a streamed tool call comes in pieces that make the same arguments', async () => {
  const frames = await framesOf(await ask('tools', { tools, stream: true }));
  type Chunk = { choices: { delta: { tool_calls?: { function: { arguments: string } }[] } }[] };
  const input = frames
    .filter((frame) => frame !== '[DONE]')
    .map((frame) => (JSON.parse(frame) as Chunk).choices[0]!.delta.tool_calls?.[0]!.function.arguments ?? '')
    .join('');
  assert.deepEqual(JSON.parse(input), { city: 'xx', days: 3 });
});

test('json fits the schema, reasoning thinks first, fail fails, another model is unknown', async () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  const format = { type: 'json_schema', json_schema: { name: 'x', schema } };
  type Answer = { choices: { message: { content: string; reasoning_content?: string } }[] };
  const json = (await (await ask('json', { response_format: format })).json()) as Answer;
  assert.deepEqual(JSON.parse(json.choices[0]!.message.content), { ok: true });
  const thought = (await (await ask('reasoning')).json()) as Answer;
  assert.equal(thought.choices[0]!.message.reasoning_content, 'The user says: Say hello');
  assert.equal((await ask('fail')).status, 502);
  assert.equal((await ask('none')).status, 404);
});

test('embed gives vectors of length 1, as numbers and as base64 of the same', async () => {
  const embed = async (more: object): Promise<unknown> => {
    const response = await gateway.post('/embeddings', { model: 'mock/embed', input: ['a'], ...more });
    return ((await response.json()) as { data: { embedding: unknown }[] }).data[0]!.embedding;
  };
  const numbers = (await embed({})) as number[];
  assert.ok(Math.abs(Math.hypot(...numbers) - 1) < 1e-9);
  const bytes = Buffer.from((await embed({ encoding_format: 'base64' })) as string, 'base64');
  assert.equal(bytes.readFloatLE(0), Math.fround(numbers[0]!));
});

test('texts that share words are near to each other, in as many dimensions as are asked for', async () => {
  const response = await gateway.post('/embeddings', {
    model: 'mock/embed',
    dimensions: 256,
    input: ['When is tea served?', 'Tea is served at four.', 'The garden closes at six.', '???'],
  });
  const { data } = (await response.json()) as { data: { embedding: number[] }[] };
  const [question, tea, garden, marks] = data.map(({ embedding }) => embedding);
  const likeness = (a: number[], b: number[]): number => a.reduce((sum, value, at) => sum + value * b[at]!, 0);
  assert.equal(question!.length, 256);
  assert.ok(likeness(question!, tea!) > 0.4);
  assert.ok(likeness(question!, garden!) < 0.2);
  assert.ok(Math.abs(Math.hypot(...marks!) - 1) < 1e-9);
  const refused = await gateway.post('/embeddings', { model: 'mock/embed', dimensions: 5000, input: 'a' });
  assert.equal(refused.status, 400);
});

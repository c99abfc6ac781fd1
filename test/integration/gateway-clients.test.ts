// Clients as their users install them against the gateway: each feature with each client, as the table of
// docs/ai-clients.md, which this prints.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { aiClients, type AiClient } from '#test/setup/ai-clients.ts';
import { mockProvider, providerAt, startGateway, type TestGateway } from '#test/setup/gateway.ts';
import { MODEL_SAYS, openModelProvider, type ModelProvider } from '#test/setup/model-provider.ts';
import { skipPackages } from '#test/setup/packages.ts';
import { until } from '#test/setup/until.ts';

const options = { skip: skipPackages };
const PAGE = join(import.meta.dirname, '../../docs/ai-clients.md');
const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';

let provider: ModelProvider;
let gateway: TestGateway;
before(async () => {
  provider = await openModelProvider();
  gateway = await startGateway({
    table: { providers: [mockProvider, providerAt(provider.url)] },
    limits: { retriesMax: 0 },
  });
});
after(async () => {
  await gateway.close();
  await provider.close();
});

const prompt = 'Say hello';

/** What is looked at; null: the client has no such function. */
type Feature = (client: AiClient, stranger: AiClient) => Promise<void> | null;

/** The newest one. */
const rowOf = async (model: string) => (await gateway.rows()).find((row) => row.modelRequested === model);

async function failureOf(client: AiClient, run: Promise<unknown>) {
  const error: unknown = await run.then(
    () => assert.fail('no error'),
    (reason: unknown) => reason,
  );
  return client.told(error);
}

const features: Readonly<Record<string, Feature>> = {
  'text, tokens': async (client) => {
    const { text, tokens } = await client.text('mock/echo', { prompt });
    assert.equal(text, prompt);
    const row = await rowOf('mock/echo');
    assert.equal(tokens, row!.promptTokens + row!.completionTokens);
  },
  'streamed text, tokens': async (client) => {
    const { text, tokens } = await client.stream('up/utf8-split', { prompt });
    assert.equal(text, MODEL_SAYS);
    const row = await rowOf('up/utf8-split');
    assert.equal(row!.isStream, true);
    assert.equal(tokens, row!.promptTokens + row!.completionTokens);
  },
  reasoning: (client) =>
    client.reasons
      ? (async () => {
          for (const said of [
            await client.text('mock/reasoning', { prompt }),
            await client.stream('mock/reasoning', { prompt }),
          ])
            assert.deepEqual([said.reasoning, said.text], [`The user says: ${prompt}`, prompt]);
        })()
      : null,
  'multi-step tool calls': async (client) => {
    assert.deepEqual(await client.work('mock/tools', prompt), { inputs: [{ city: 'x' }], text: 'The tool says: rain' });
  },
  'streamed multi-step tool calls': async (client) => {
    const worked = await client.workStreamed('mock/tools', prompt);
    assert.deepEqual(worked, { inputs: [{ city: 'x' }], text: 'The tool says: rain' });
  },
  'structured output': async (client) => {
    const properties = { n: { type: 'number', minimum: 4 }, name: { type: 'string' } };
    const schema = { type: 'object', properties, required: ['n', 'name'], additionalProperties: false };
    assert.deepEqual(await client.object('mock/json', schema), { n: 4, name: 'x' });
  },
  images: async (client) => {
    await client.text('up/echo', { prompt, picture: PICTURE });
    const [message] = provider.asked.at(-1)!.body['messages'] as { content: { type: string }[] }[];
    const image = message!.content.find(({ type }) => type === 'image_url') as unknown;
    assert.deepEqual(image, { type: 'image_url', image_url: { url: PICTURE } });
  },
  embeddings: async (client) => {
    const vectors = await client.embed('mock/embed', ['a', 'b']);
    assert.deepEqual(
      vectors.map(({ length }) => length),
      [32, 32],
    );
    assert.notDeepEqual(vectors[0], vectors[1]);
  },
  'list of models': ({ models }) =>
    models === null
      ? null
      : (async () => {
          const names = await models();
          assert.ok(names.includes('mock/echo') && names.includes('up/echo'), names.join());
        })(),
  'fallback models': async (client) => {
    const { text } = await client.text('mock/fail', { prompt, fallbacks: ['up/echo'] });
    assert.equal(text, MODEL_SAYS);
  },
  'unknown model: 404': async (client) => {
    for (const run of [() => client.text('mock/none', { prompt }), () => client.stream('nobody/x', { prompt })]) {
      const { status, word } = await failureOf(client, run());
      assert.equal(status, 404);
      assert.match(word, /model_?not_?found/i);
    }
  },
  'invalid token: refused': async (_, stranger) => {
    const { word } = await failureOf(stranger, stranger.text('mock/echo', { prompt }));
    assert.match(word, /invalid_api_key|auth/i);
  },
  'broken stream: error': async (client) => {
    for (const model of ['up/cut/mid', 'up/reset/mid', 'up/err/mid'])
      await failureOf(client, client.stream(model, { prompt }));
  },
  'abort stops the provider’s work': async (client) => {
    for (const isStream of [false, true]) {
      const before = provider.asked.length;
      const gone = new AbortController();
      const asked = { prompt, signal: gone.signal };
      const run = isStream ? client.stream('up/hang/mid', asked) : client.text('up/hang', asked);
      await until(() => provider.asked.length > before);
      gone.abort();
      // Some clients end an aborted stream without an error.
      await run.catch(() => {});
      assert.deepEqual(await provider.asked.at(-1)!.closed, { isCut: true });
    }
  },
};

test('every feature works with every client that has it, and the page says so', options, async (context) => {
  const clients = await Promise.all(aiClients.map((open) => open(gateway)));
  const strangers = await Promise.all(aiClients.map((open) => open({ url: gateway.url, token: `${gateway.token}x` })));
  const cells = new Map<string, string>();
  for (const [index, client] of clients.entries()) {
    for (const [name, run] of Object.entries(features)) {
      await context.test(`${client.name}: ${name}`, async () => {
        const running = run(client, strangers[index]!);
        await running;
        cells.set(`${client.name} ${name}`, running === null ? '–' : 'yes');
      });
    }
  }
  const rows = [
    ['', ...clients.map(({ name }) => name)],
    ['---', ...clients.map(() => '---')],
    ...Object.keys(features).map((feature) => [
      feature,
      ...clients.map(({ name }) => cells.get(`${name} ${feature}`) ?? 'no'),
    ]),
  ];
  const table = rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
  context.diagnostic(`\n${table}`);
  const plain = (text: string): string =>
    text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---').replaceAll('| |', '||');
  assert.ok(plain(readFileSync(PAGE, 'utf8')).includes(plain(table)), 'docs/ai-clients.md has another table than this');
});

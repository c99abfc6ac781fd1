// Clients of models inside an isolate: over PLATFORM_AI_URL with the deployment's token, and over env.AI. Each answers
// `/<client>/<feature>`. Run by test/integration/packages-ai.test.ts.
import OpenAI from 'openai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai';
import { createOpenAICompatible as compatible5 } from 'oc5';
import { createOpenAICompatible as compatible6 } from 'oc6';
import { createOpenAICompatible as compatible7 } from 'oc7';
import { createWorkersAI } from 'workers-ai-provider';
import { z } from 'zod';

const prompt = 'Say hello to Zoë 👋';

function openai({ PLATFORM_AI_URL: baseURL, PLATFORM_AI_TOKEN: apiKey }) {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const messages = [{ role: 'user', content: prompt }];
  const model = 'mock/echo';
  return {
    text: async () => (await client.chat.completions.create({ model, messages })).choices[0].message.content,
    async stream() {
      let text = '';
      for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
        text += chunk.choices[0]?.delta.content ?? '';
      return text;
    },
    async tools() {
      const inputs = [];
      const run = client.chat.completions.runTools({
        model: 'mock/tools',
        messages,
        tools: [
          {
            type: 'function',
            function: {
              name: 'weather',
              parse: JSON.parse,
              parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
              function(input) {
                inputs.push(input);
                return 'rain';
              },
            },
          },
        ],
      });
      return [inputs, await run.finalContent()];
    },
    async embeddings() {
      const { data } = await client.embeddings.create({ model: 'mock/embed', input: ['a', 'b'] });
      return data.map(({ embedding }) => embedding.length);
    },
    error: () =>
      client.chat.completions.create({ model: 'mock/none', messages }).then(
        () => 'no error',
        ({ status, code }) => [status, code],
      ),
  };
}

/** @param sdk a major of `ai`. @param embedder of the provider, by a name that majors have it under. */
function sdkClient(sdk, languageModel, embeddingModel) {
  const weather = (inputs) =>
    sdk.tool({
      description: 'The weather',
      inputSchema: z.object({ city: z.string() }),
      execute: (input) => {
        inputs.push(input);
        return 'rain';
      },
    });
  const base = { maxRetries: 0, prompt };
  return {
    text: async () => (await sdk.generateText({ ...base, model: languageModel('mock/echo') })).text,
    async stream() {
      let text = '';
      for await (const delta of sdk.streamText({ ...base, model: languageModel('mock/echo') }).textStream)
        text += delta;
      return text;
    },
    async tools() {
      const inputs = [];
      const { text } = await sdk.generateText({
        ...base,
        model: languageModel('mock/tools'),
        tools: { weather: weather(inputs) },
        stopWhen: (sdk.isStepCount ?? sdk.stepCountIs)(3),
      });
      return [inputs, text];
    },
    async embeddings() {
      const { embeddings } = await sdk.embedMany({
        model: embeddingModel('mock/embed'),
        values: ['a', 'b'],
        maxRetries: 0,
      });
      return embeddings.map(({ length }) => length);
    },
    error: () =>
      sdk.generateText({ ...base, model: languageModel('mock/none') }).then(
        () => 'no error',
        ({ statusCode, data, cause, type }) => [statusCode ?? cause?.status, data?.error?.code ?? cause?.code ?? type],
      ),
  };
}

function compatible(sdk, create, { PLATFORM_AI_URL: baseURL, PLATFORM_AI_TOKEN: apiKey }) {
  const provider = create({ name: 'platform', baseURL, apiKey });
  return sdkClient(sdk, provider, (model) =>
    (provider.embeddingModel ?? provider.textEmbeddingModel).call(provider, model),
  );
}

/** The SDK's own gateway client: models by their names alone. */
function gateway(sdk, { PLATFORM_AI_URL: url, PLATFORM_AI_TOKEN: apiKey }) {
  const provider = sdk.createGateway({ baseURL: `${url}/sdk`, apiKey });
  return sdkClient(sdk, provider, (model) =>
    (provider.embeddingModel ?? provider.textEmbeddingModel).call(provider, model),
  );
}

function overBinding({ AI }) {
  const provider = createWorkersAI({ binding: AI });
  return sdkClient(ai7, provider, (model) => provider.embedding(model));
}

const clients = {
  openai,
  ai5: (env) => compatible(ai5, compatible5, env),
  ai6: (env) => compatible(ai6, compatible6, env),
  ai7: (env) => compatible(ai7, compatible7, env),
  gateway5: (env) => gateway(ai5, env),
  gateway6: (env) => gateway(ai6, env),
  gateway7: (env) => gateway(ai7, env),
  binding: overBinding,
};

export default {
  async fetch(request, env) {
    const [, client, feature] = new URL(request.url).pathname.split('/');
    return Response.json(await clients[client](env)[feature]());
  },
};

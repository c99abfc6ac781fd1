// Clients of AI gateways as their users install them (test/packages), behind one interface: what each of them gets
// from the same question. Knows nothing of what is right.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(import.meta.dirname, '../packages/package.json'));
const manifest = require('./package.json') as { readonly dependencies: Readonly<Record<string, string>> };

/** A package of test/packages: none of the repository's own dependencies. */
const load = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);
/** As it is pinned. */
const versionOf = (name: string): string => manifest.dependencies[name]!.replace(/^npm:.*@/, '');

/** Where a client is to go. */
interface Access {
  /** `http://.../ai` */
  readonly url: string;
  readonly token: string;
}

interface Asked {
  readonly prompt: string;
  /** A data: URL. */
  readonly picture?: string;
  /** Models to try after the first. */
  readonly fallbacks?: readonly string[];
  readonly signal?: AbortSignal;
}

interface Said {
  readonly text: string;
  readonly reasoning: string;
  /** Of the question and the answer. */
  readonly tokens: number;
}

/** What a tool was called with, and what the model said last. */
interface Worked {
  readonly inputs: readonly unknown[];
  readonly text: string;
}

/** What a client lets its user see of an error. */
interface Told {
  readonly status: number | undefined;
  /** A code, a type or the name of a class. */
  readonly word: string;
}

/** A client, as it is installed. */
export interface AiClient {
  readonly name: string;
  text(model: string, asked: Asked): Promise<Said>;
  stream(model: string, asked: Asked): Promise<Said>;
  /** Whether it shows what a model thought. */
  readonly reasons: boolean;
  work(model: string, prompt: string): Promise<Worked>;
  workStreamed(model: string, prompt: string): Promise<Worked>;
  /** An answer in this form. */
  object(model: string, schema: object): Promise<unknown>;
  embed(model: string, values: readonly string[]): Promise<readonly (readonly number[])[]>;
  /** Null: it has no such function. */
  readonly models: (() => Promise<readonly string[]>) | null;
  told(error: unknown): Told;
}

/** Each of them, for a place to go. */
export const aiClients: readonly ((access: Access) => Promise<AiClient>)[] = [
  openAiClient,
  ...([5, 6, 7] as const).map((major) => (access: Access) => sdkClient(major, 'default', access)),
  ...([5, 6, 7] as const).map((major) => (access: Access) => sdkClient(major, 'compatible', access)),
  langChainClient,
];

const weatherSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = 'rain';

async function openAiClient({ url, token }: Access): Promise<AiClient> {
  const { default: OpenAI } = await load('openai');
  const client = new OpenAI({ baseURL: url, apiKey: token, maxRetries: 0 });
  const bodyOf = (model: string, { prompt, picture, fallbacks }: Asked): object => {
    const image = picture === undefined ? [] : [{ type: 'image_url', image_url: { url: picture } }];
    const messages = [{ role: 'user', content: [{ type: 'text', text: prompt }, ...image] }];
    return { model, messages, ...(fallbacks === undefined ? {} : { models: fallbacks }) };
  };
  const tools = [{ type: 'function', function: { name: 'weather', parameters: weatherSchema } }];
  const work = async (model: string, prompt: string, isStream: boolean): Promise<Worked> => {
    const inputs: unknown[] = [];
    const run = client.chat.completions.runTools({
      model,
      stream: isStream,
      messages: [{ role: 'user', content: prompt }],
      tools: [
        {
          type: 'function',
          function: {
            ...tools[0]!.function,
            parse: JSON.parse,
            function: (input: unknown) => {
              inputs.push(input);
              return WEATHER;
            },
          },
        },
      ],
    });
    return { text: (await run.finalContent()) as string, inputs };
  };
  return {
    name: `openai ${versionOf('openai')}`,
    async text(model, asked) {
      const answer = await client.chat.completions.create(bodyOf(model, asked), { signal: asked.signal });
      const { content, reasoning_content: reasoning = '' } = answer.choices[0].message;
      return { text: content, reasoning, tokens: answer.usage.total_tokens };
    },
    async stream(model, asked) {
      const body = { ...bodyOf(model, asked), stream: true, stream_options: { include_usage: true } };
      const said = { text: '', reasoning: '', tokens: 0 };
      for await (const chunk of await client.chat.completions.create(body, { signal: asked.signal })) {
        said.text += chunk.choices[0]?.delta.content ?? '';
        said.reasoning += chunk.choices[0]?.delta.reasoning_content ?? '';
        said.tokens = chunk.usage?.total_tokens ?? said.tokens;
      }
      return said;
    },
    reasons: true,
    work: (model, prompt) => work(model, prompt, false),
    workStreamed: (model, prompt) => work(model, prompt, true),
    async object(model, schema) {
      const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
      const messages = [{ role: 'user', content: 'Answer' }];
      const answer = await client.chat.completions.create({ model, messages, response_format });
      return JSON.parse(answer.choices[0].message.content) as unknown;
    },
    async embed(model, values) {
      const { data } = await client.embeddings.create({ model, input: values });
      return data.map(({ embedding }: { embedding: number[] }) => embedding);
    },
    async models() {
      const names: string[] = [];
      for await (const { id } of client.models.list()) names.push(id);
      return names;
    },
    told: (error) => {
      const { status, code } = error as { status?: number; code?: string };
      return { status, word: String(code) };
    },
  };
}

/** @param form `default`: names of models alone, with `createGateway` of `ai` itself as the default provider. */
async function sdkClient(major: 5 | 6 | 7, form: 'default' | 'compatible', { url, token }: Access): Promise<AiClient> {
  const packageName = major === 7 ? 'ai' : `ai${major}`;
  const sdk = await load(packageName);
  const gateway = sdk.createGateway({ baseURL: `${url}/sdk`, apiKey: token });
  const compatible = (await load(`oc${major}`)).createOpenAICompatible({
    name: 'platform',
    baseURL: url,
    apiKey: token,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const isDefault = form === 'default';
  const modelOf = (model: string): unknown => (isDefault ? model : compatible(model));
  /** The default provider is one for the process: other majors' and tokens' are used in between. */
  const begin = (): void => void Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: gateway });
  const bodyOf = (model: string, { prompt, picture, fallbacks, signal }: Asked): object => {
    begin();
    const image = picture === undefined ? [] : [{ type: 'file', mediaType: 'image/png', data: picture }];
    return {
      model: modelOf(model),
      maxRetries: 0,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...image] }],
      ...(fallbacks === undefined
        ? {}
        : { providerOptions: { [isDefault ? 'gateway' : 'platform']: { models: fallbacks } } }),
      ...(signal === undefined ? {} : { abortSignal: signal }),
    };
  };
  /** Its own last part is an error, or it throws: both are a failed stream to whoever reads it. */
  const read = async (result: { fullStream: AsyncIterable<{ type: string; error?: unknown; reason?: unknown }> }) => {
    for await (const part of result.fullStream) {
      if (part.type === 'error') throw part.error as Error;
      if (part.type === 'abort') throw new Error('aborted');
    }
  };
  const withTools = (model: string, prompt: string, inputs: unknown[]): object => {
    const execute = (input: unknown): string => {
      inputs.push(input);
      return WEATHER;
    };
    const weather = sdk.tool({ description: 'The weather', inputSchema: sdk.jsonSchema(weatherSchema), execute });
    return { ...bodyOf(model, { prompt }), tools: { weather }, stopWhen: (sdk.isStepCount ?? sdk.stepCountIs)(3) };
  };
  return {
    name: isDefault
      ? `ai ${versionOf(packageName)}, default provider`
      : `ai ${versionOf(packageName)}, @ai-sdk/openai-compatible ${versionOf(`oc${major}`)}`,
    async text(model, asked) {
      const { text, reasoningText = '', usage } = await sdk.generateText(bodyOf(model, asked));
      return { text, reasoning: reasoningText, tokens: usage.totalTokens };
    },
    async stream(model, asked) {
      const result = sdk.streamText({ ...bodyOf(model, asked), onError() {} });
      await read(result);
      const [text, reasoning = '', usage] = await Promise.all([result.text, result.reasoningText, result.usage]);
      return { text, reasoning, tokens: usage.totalTokens };
    },
    reasons: true,
    async work(model, prompt) {
      const inputs: unknown[] = [];
      const { text } = await sdk.generateText(withTools(model, prompt, inputs));
      return { text, inputs };
    },
    async workStreamed(model, prompt) {
      const inputs: unknown[] = [];
      const result = sdk.streamText(withTools(model, prompt, inputs));
      await read(result);
      return { text: await result.text, inputs };
    },
    async object(model, schema) {
      const output = sdk.Output.object({ schema: sdk.jsonSchema(schema) });
      const named = major === 5 ? { experimental_output: output } : { output };
      const answer = await sdk.generateText({ ...bodyOf(model, { prompt: 'Answer' }), ...named });
      return (major === 5 ? answer.experimental_output : answer.output) as unknown;
    },
    async embed(model, values) {
      begin();
      const factory = compatible.embeddingModel ?? compatible.textEmbeddingModel;
      const from = isDefault ? model : factory.call(compatible, model);
      return (await sdk.embedMany({ model: from, values, maxRetries: 0 })).embeddings as number[][];
    },
    models: isDefault
      ? async () => (await gateway.getAvailableModels()).models.map(({ id }: { id: string }) => id)
      : null,
    told(error) {
      const { statusCode, type, data, name } = error as {
        readonly statusCode?: number;
        readonly type?: string;
        readonly data?: { readonly error?: { readonly code?: string } };
        readonly name: string;
      };
      return { status: statusCode, word: data?.error?.code ?? type ?? name };
    },
  };
}

async function langChainClient({ url, token }: Access): Promise<AiClient> {
  const { ChatOpenAI, OpenAIEmbeddings } = await load('@langchain/openai');
  const { tool } = await load('@langchain/core/tools');
  const { HumanMessage, ToolMessage } = await load('@langchain/core/messages');
  const configuration = { baseURL: url };
  const modelOf = (model: string, fallbacks?: readonly string[]) =>
    new ChatOpenAI({
      model,
      apiKey: token,
      maxRetries: 0,
      streamUsage: true,
      configuration,
      ...(fallbacks === undefined ? {} : { modelKwargs: { models: fallbacks } }),
    });
  const messagesOf = ({ prompt, picture }: Asked): unknown[] => {
    const image = picture === undefined ? [] : [{ type: 'image_url', image_url: { url: picture } }];
    return [new HumanMessage({ content: [{ type: 'text', text: prompt }, ...image] })];
  };
  const work = async (model: string, prompt: string, isStream: boolean): Promise<Worked> => {
    const inputs: unknown[] = [];
    const weather = tool(
      (input: unknown) => {
        inputs.push(input);
        return WEATHER;
      },
      { name: 'weather', description: 'The weather', schema: weatherSchema },
    );
    const bound = modelOf(model).bindTools([weather]);
    const ask = async (messages: unknown[]) => {
      if (!isStream) return bound.invoke(messages);
      let whole = null;
      for await (const chunk of await bound.stream(messages)) whole = whole === null ? chunk : whole.concat(chunk);
      return whole;
    };
    const messages: unknown[] = [new HumanMessage(prompt)];
    const called = await ask(messages);
    messages.push(called);
    for (const call of called.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: call.id, content: await weather.invoke(call.args) }));
    return { text: (await ask(messages)).text as string, inputs };
  };
  return {
    name: `@langchain/openai ${versionOf('@langchain/openai')}`,
    async text(model, asked) {
      const answer = await modelOf(model, asked.fallbacks).invoke(messagesOf(asked), { signal: asked.signal });
      return { text: answer.text, reasoning: '', tokens: answer.usage_metadata.total_tokens };
    },
    async stream(model, asked) {
      const said = { text: '', reasoning: '', tokens: 0 };
      for await (const chunk of await modelOf(model).stream(messagesOf(asked), { signal: asked.signal })) {
        said.text += chunk.text;
        said.tokens = chunk.usage_metadata?.total_tokens ?? said.tokens;
      }
      return said;
    },
    // It drops what is not OpenAI's own.
    reasons: false,
    work: (model, prompt) => work(model, prompt, false),
    workStreamed: (model, prompt) => work(model, prompt, true),
    object: (model, schema) =>
      modelOf(model)
        .withStructuredOutput({ title: 'answer', ...schema }, { method: 'jsonSchema' })
        .invoke('Answer'),
    embed: (model, values) =>
      new OpenAIEmbeddings({ model, apiKey: token, maxRetries: 0, configuration }).embedDocuments(values),
    models: null,
    told(error) {
      const { status, code } = error as { status?: number; code?: string };
      return { status, word: String(code) };
    },
  };
}

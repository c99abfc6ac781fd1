// openai against a server of the test, and the AI SDK with a model that is a mock. Run by
// test/integration/packages.test.ts.
import OpenAI from 'openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function mock() {
  let step = 0;
  return new MockLanguageModelV4({
    doGenerate: async () =>
      step++ === 0
        ? {
            content: [{ type: 'tool-call', toolCallId: '1', toolName: 'weather', input: '{"city":"Berlin"}' }],
            finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: 'text', text: 'It is sunny.' }],
            finishReason: { unified: 'stop', raw: 'stop' },
            usage,
            warnings: [],
          },
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] });
          controller.enqueue({ type: 'text-start', id: '1' });
          for (const delta of ['Hello', ', ', 'world']) controller.enqueue({ type: 'text-delta', id: '1', delta });
          controller.enqueue({ type: 'text-end', id: '1' });
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage });
          controller.close();
        },
      }),
    }),
  });
}

export default {
  async fetch(request, env) {
    const client = new OpenAI({ apiKey: 'key', baseURL: env.OPENAI_URL, maxRetries: 1 });
    switch (new URL(request.url).pathname) {
      case '/openai': {
        const { data, response } = await client.chat.completions
          .create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
          .withResponse();
        return Response.json({ text: data.choices[0].message.content, id: response.headers.get('x-request-id') });
      }
      case '/openai-stream': {
        const stream = await client.chat.completions.create({
          model: 'm',
          stream: true,
          messages: [{ role: 'user', content: 'hi' }],
        });
        return new Response(stream.toReadableStream());
      }
      case '/openai-fails':
        return client.models.retrieve('missing').then(
          () => new Response('found'),
          (error) => Response.json({ status: error.status, name: error.constructor.name }),
        );
      case '/openai-upload': {
        const file = await client.files.create({
          purpose: 'assistants',
          file: await OpenAI.toFile(new TextEncoder().encode('content'), 'a.txt'),
        });
        return Response.json(file);
      }
      case '/ai': {
        const { text, steps } = await generateText({
          model: mock(),
          prompt: 'weather?',
          tools: {
            weather: tool({
              description: 'w',
              inputSchema: z.object({ city: z.string() }),
              execute: async ({ city }) => `sunny in ${city}`,
            }),
          },
          stopWhen: stepCountIs(3),
        });
        return Response.json({ text, steps: steps.length, result: steps[0].toolResults[0].output });
      }
      case '/ai-stream':
        return streamText({ model: mock(), prompt: 'hello' }).toTextStreamResponse();
      default:
        return streamText({ model: mock(), prompt: 'hello' }).toUIMessageStreamResponse();
    }
  },
};

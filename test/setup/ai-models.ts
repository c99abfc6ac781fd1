// What test/packages/workers/ai-models.js answers where models can be reached: clients of models, as their users
// install them, inside an isolate.
import type { TestResponse } from './send.ts';

const PROMPT = 'Say hello to Zoë 👋';

/** By its path. */
export const aiModelClients = ['openai', 'ai5', 'ai6', 'ai7', 'gateway5', 'gateway6', 'gateway7', 'binding'] as const;

/** Path of a feature -> what each client answers. */
export const aiModelAnswers = {
  text: PROMPT,
  stream: PROMPT,
  tools: [[{ city: 'x' }], 'The tool says: rain'],
  embeddings: [32, 32],
  error: [404, 'model_not_found'],
} as const;

/** What one client answers; a failure is the text of its page. */
export async function askAiModels(
  client: (typeof aiModelClients)[number],
  ask: (path: string) => Promise<TestResponse>,
): Promise<Record<string, unknown>> {
  const answered: Record<string, unknown> = {};
  for (const feature of Object.keys(aiModelAnswers)) {
    const { status, text } = await ask(`/${client}/${feature}`);
    answered[feature] = status === 200 ? JSON.parse(text) : text;
  }
  return answered;
}

// A chat with a model: the page sends the conversation, and gets the answer as it is made. The token of the gateway
// stays here.
import type { AiError, AiMessage, PlatformWorker } from '@platform-run/types';

const MESSAGES_MAX = 50;
const CHARACTERS_MAX = 20_000;

export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname !== '/api/chat') return refuse(404, 'There is only /api/chat');
    if (request.method !== 'POST') return refuse(405, 'Send the conversation with POST');
    const messages = readMessages(await request.json().catch(() => null));
    if (messages === null) return refuse(400, 'The body must be {"messages": [{"role": "user", "content": "..."}]}');
    try {
      const answer = await env.AI.run('auto', { messages, stream: true }, { signal: request.signal });
      return new Response(answer, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } });
    } catch (error) {
      const { status = 500, message } = error as Partial<AiError>;
      return refuse(status === 429 ? 429 : 500, message ?? 'The model did not answer');
    }
  },
} satisfies PlatformWorker<PlatformEnv>;

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

/** What a page may send: a conversation of two, not too long. Null: it is something else. */
function readMessages(body: unknown): AiMessage[] | null {
  const { messages } = (body ?? {}) as { messages?: unknown };
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > MESSAGES_MAX) return null;
  const read: AiMessage[] = [];
  let characters = 0;
  for (const { role, content } of messages as { role?: unknown; content?: unknown }[]) {
    if ((role !== 'user' && role !== 'assistant') || typeof content !== 'string') return null;
    characters += content.length;
    read.push({ role, content });
  }
  return characters > CHARACTERS_MAX ? null : read;
}

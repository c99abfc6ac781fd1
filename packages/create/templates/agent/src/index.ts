// An agent that chats on a web page. Each browser is a user with a conversation of its own.
import { createAgent } from '@platform-run/agent';
import { chat, liveEvents } from './chat.ts';
import { rollDice } from './dice.ts';

export default createAgent<PlatformEnv>({
  systemPrompt: 'You are a friendly assistant. You can roll dice, remember things, and remind the user of things.',
  // The mock provider answers without a network. AGENT_MODEL names a real one, such as openai/gpt-5-mini.
  model: process.env['AGENT_MODEL'] ?? 'mock/tools',
  streaming: { enabled: true, throttleMs: 100 },
  tools: [rollDice],
  messengers: { web: (env) => chat(env) },
  async handle(request, env, agent) {
    const { pathname } = new URL(request.url);
    const known = /(?:^|; )user=([0-9a-f-]{36})(?:;|$)/.exec(request.headers.get('cookie') ?? '')?.[1];
    const userId = known ?? crypto.randomUUID();
    const answer = await route();
    if (known === undefined) answer.headers.append('set-cookie', `user=${userId}; Path=/; HttpOnly; SameSite=Strict`);
    return answer;

    async function route(): Promise<Response> {
      if (pathname === '/api/events' && request.method === 'GET') return liveEvents(userId, env, agent);
      if (pathname !== '/api/messages' || request.method !== 'POST')
        return Response.json({ error: 'Not found' }, { status: 404 });
      const { text } = (await request.json().catch(() => ({}))) as { text?: unknown };
      if (typeof text !== 'string' || text.trim() === '' || text.length > 4000)
        return Response.json({ error: 'A message has 1 to 4,000 characters' }, { status: 400 });
      if (text === '/reset') return Response.json({ reply: await agent.commands.reset(userId, userId) });
      if (text === '/tools') return Response.json({ reply: await agent.commands.listTools(userId) });
      if (text === '/cancel') return Response.json({ reply: await agent.commands.cancel(userId, userId) });
      return Response.json(await agent.handleMessage({ userId, chatId: userId, platform: 'web', text }));
    }
  },
});

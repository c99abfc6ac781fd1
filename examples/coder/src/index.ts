// An agent that programs: it writes files, runs them and reads what they say, in a sandbox of each user. Its runs are
// durable: a call that was made is not made again, whatever happens to the worker meanwhile.
import { createAgent } from '@platform-run/agent';
import { tools } from './tools.ts';

const routes = ['POST /ask/<user>', 'GET /conversation/<user>', 'DELETE /sandbox/<user>'];
const USER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export default createAgent<PlatformEnv>({
  systemPrompt:
    'You are a programmer with a sandbox: a Linux machine of your own, whose folder /workspace is kept. Write files, ' +
    'run them, read what they say, and mend them until they do what the user asked for. Then say shortly what you did.',
  // `auto` is the model that the platform's operator chose; in dev, AGENT_MODEL names another.
  model: process.env['AGENT_MODEL'] ?? 'auto',
  features: { artifacts: false, scheduling: false, mcp: false },
  tools,
  // What it says is in the conversation: GET /conversation/<user>.
  messengers: {
    api: () => ({ async sendMessage() {}, async sendDocument() {}, async sendTypingIndicator() {} }),
  },
  async handle(request, env, agent) {
    const [, route, userId = ''] = new URL(request.url).pathname.split('/');
    if (route === '') return Response.json({ name: 'coder', routes });
    // It answers everyone for every user. To check who asks, see docs/auth.md.
    if (!USER.test(userId)) return Response.json({ error: 'Name a user, as in /ask/ada' }, { status: 404 });
    if (route === 'ask' && request.method === 'POST') {
      const text = await request.text();
      if (text === '' || text.length > 20_000)
        return Response.json({ error: 'A message has 1 to 20,000 characters' }, { status: 400 });
      return Response.json(await agent.handleMessage({ userId, chatId: userId, platform: 'api', text }), {
        status: 202,
      });
    }
    if (route === 'conversation' && request.method === 'GET') {
      const workspace = await agent.workspace(userId);
      return Response.json({ isBusy: (workspace?.activeRunId ?? null) !== null, messages: workspace?.messages ?? [] });
    }
    if (route === 'sandbox' && request.method === 'DELETE') {
      await env.BOX.get(userId).destroy();
      return new Response(null, { status: 204 });
    }
    return Response.json({ error: 'Not found', routes }, { status: 404 });
  },
});

// The worker of an agent under test: it posts what it says and does to a server of the test (fake-model.ts), and lets
// the test look into it.

/**
 * Its source. @param config members of what `createAgent` takes, as code. @param model `fetch`: the server of the test
 * answers in the place of env.AI, where the platform has no gateway.
 */
export function agentWorker(url: string, config: string, model: 'env.AI' | 'fetch' = 'env.AI'): string {
  return `
import { createAgent, defineTool } from '@platform-run/agent';

${model === 'fetch' ? fetchModel(url) : 'const withModel = (env) => env;'}
const post = async (body) => void (await (await fetch('${url}/post', { method: 'POST', body: JSON.stringify(body) })).text());
const effect = (chatId, text, key) => post({ kind: 'effect', chatId, text, key });
const hook = (chatId, ...args) => post({ kind: 'hook', chatId, text: JSON.stringify(args) });

const messengerTo = (to) => ({
  sendMessage: (chatId, text, options) => post({ kind: 'message', chatId, text, key: options?.idempotencyKey, to }),
  sendDocument: (chatId, filename, content) => post({ kind: 'document', chatId, text: filename + ':' + (typeof content === 'string' ? content : content.length), to }),
  sendTypingIndicator: async () => {},
  sendPartialMessage: (chatId, partial) => post({ kind: 'partial', chatId, text: JSON.stringify(partial), to }),
});
/** One that throws the first time. */
const failing = () => {
  let count = 0;
  return {
    sendMessage: async (chatId, text, options) => {
      if (count++ === 0) throw new Error('the chat is away');
      await post({ kind: 'message', chatId, text, key: options?.idempotencyKey, to: 'given' });
    },
  };
};
/** Answers with what the agent says, as it says it: the messenger writes into the answer. */
const streamed = async (start) => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const write = (...said) => writer.write(new TextEncoder().encode(JSON.stringify(said) + '\\n'));
  await start({
    sendMessage: async (_chatId, text) => {
      await write('message', text);
      await writer.close();
    },
    sendDocument: (_chatId, filename, content) => write('document', filename, typeof content === 'string' ? content : [...content]),
    sendTypingIndicator: () => write('typing'),
    sendPartialMessage: (_chatId, partial) => write('partial', partial.delta, partial.text, partial.isFinal),
  });
  return new Response(readable);
};

const agent = createAgent({
  systemPrompt: (userId) => 'user:' + userId,
  messengers: {
    test: () => messengerTo('registered'),
  },
  async handle(request, env, agent) {
    const body = await request.json();
    switch (new URL(request.url).pathname) {
      case '/say': return Response.json(await agent.handleMessage(body));
      case '/say-with': return Response.json(await agent.handleMessage({ ...body, messenger: { ...messengerTo('given'), ...(body.fails && failing()) } }));
      case '/say-wrong': return agent.handleMessage({ ...body, messenger: { sendMessage: async () => {} } });
      case '/ask': return streamed((messenger) => agent.handleMessage({ ...body, messenger }));
      case '/command': return Response.json(await agent.commands[body.name](...body.args));
      case '/workspace': return Response.json(await agent.state.getJSON('agent:workspace:' + body.userId));
      case '/masked': return Response.json(await agent.workspace(body.userId));
      case '/timer': { await env.PLATFORM_AGENT_SCHEDULER.set(body.id, body.at, { payload: body.payload }); return Response.json(null); }
      case '/move-mcp': { await agent.state.update('agent:workspace:' + body.userId, { $set: { 'mcpServers.0.url': body.url } }); return Response.json(null); }
      case '/get-timer': return Response.json(await env.PLATFORM_AGENT_SCHEDULER.get(body.id));
      case '/relays': return Response.json((await env.PLATFORM_AGENT_STATE.list({ prefix: 'agent:relay:' })).keys);
      case '/cancel-run': { await env.PLATFORM_AGENT_WORKFLOW.cancel(body.runId); return Response.json(null); }
    }
    return new Response('nothing here', { status: 404 });
  },
  ${config}
});

const { handler, onError } = agent.workflows.platform_agent_run;
export default {
  fetch: (request, env) => agent.fetch(request, withModel(env)),
  async timer(event, env) {
    await agent.timer(event, withModel(env));
    await post({ kind: 'timer', chatId: event.payload.userId, text: event.id });
  },
  workflows: {
    platform_agent_run: {
      handler: (context) => handler({ ...context, env: withModel(context.env) }),
      onError: (error, context) => onError(error, { ...context, env: withModel(context.env) }),
    },
  },
};
`;
}

function fetchModel(url: string): string {
  return `
const AI = {
  async run(model, inputs) {
    const response = await fetch('${url}/chat/completions', { method: 'POST', body: JSON.stringify({ model, ...inputs }) });
    if (!response.ok) throw Object.assign(new Error((await response.json()).error.message), { status: response.status });
    return inputs.stream ? response.body : response.json();
  },
};
const withModel = (env) => new Proxy(env, { get: (target, name) => (name === 'AI' ? AI : target[name]) });`;
}

// An agent in `platform dev` for tests: a worker of packages/agent with real bindings, a model that speaks chat
// completions by a script of the test, and a chat that keeps what it is sent.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Workspace } from '#packages/agent/workspace-types.ts';
import { startDev, type TestDev } from './dev.ts';

/** What the model is asked. */
export interface ModelRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly {
    role: string;
    content: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    tool_call_id?: string;
  }[];
  readonly tools?: readonly { function: { name: string; parameters: unknown } }[];
}

/** What it answers: text, calls of tools, or a status. */
export type ModelReply =
  | string
  | { readonly calls: readonly (readonly [name: string, args: unknown])[]; readonly content?: string }
  | { readonly status: number };

/** The model of one user: the request, and how many came before it. */
export type Script = (request: ModelRequest, count: number) => ModelReply | Promise<ModelReply>;

/** What the chat or a tool of the test was sent. */
export interface Posted {
  readonly kind: 'message' | 'document' | 'partial' | 'effect' | 'hook' | 'timer';
  readonly chatId: string;
  readonly text: string;
  readonly key?: string;
}

/** An agent under test. */
export interface TestAgent {
  readonly dev: TestDev;
  readonly folder: string;
  /** Requests of a user's model. */
  requests(userId: string): readonly ModelRequest[];
  script(userId: string, script: Script): void;
  /** Leaves the next post of this text without an answer. */
  hold(text: string): void;
  /** Sends a message; the chat has the id of the user. */
  say(userId: string, text: string): Promise<{ runId: string; queued: boolean }>;
  command(name: string, ...args: unknown[]): Promise<string>;
  /** As it lies in the state. */
  workspace(userId: string): Promise<Workspace | null>;
  /** What came of a kind for a chat so far. */
  posted(chatId: string, kind?: Posted['kind']): readonly Posted[];
  /** Resolves when something is so, looked at whenever something comes. */
  came(is: () => boolean): Promise<void>;
  /** Resolves when no run is active. */
  idle(userId: string): Promise<Workspace>;
  /** Kills the process, and starts it again in the same folder. */
  killAndStart(): Promise<void>;
  close(): Promise<void>;
}

const root = join(import.meta.dirname, '../..');

/** Starts one. @param config members of what `createAgent` takes, as code. @param variables of its project. */
export async function startAgent(config = '', variables: Readonly<Record<string, string>> = {}): Promise<TestAgent> {
  const asked = new Map<string, ModelRequest[]>();
  const scripts = new Map<string, Script>();
  const posts: Posted[] = [];
  const held = new Set<string>();
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request as IncomingMessage)) as never;
    if (request.url === '/post') {
      posts.push(body);
      // One that is held is never answered: whoever sent it is killed meanwhile.
      if (!held.delete((body as Posted).text)) response.end('{}');
      for (const look of waiting) look();
      return;
    }
    const given = body as ModelRequest;
    const userId = /^user:(\S+)/.exec(given.messages[0]?.content ?? '')?.[1] ?? 'summary';
    const before = asked.get(userId) ?? [];
    asked.set(userId, [...before, given]);
    for (const look of waiting) look();
    const reply = (await scripts.get(userId)?.(given, before.length)) ?? 'hello';
    if (typeof reply === 'object' && 'status' in reply) {
      response.writeHead(reply.status).end(JSON.stringify({ error: { message: `status ${reply.status}` } }));
      return;
    }
    const message = toMessage(reply);
    if (given.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(streamed(message));
    } else
      response.end(
        JSON.stringify({
          id: 'c',
          object: 'chat.completion',
          model: 'double',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
        }),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  // Below the checkout's own node_modules, where the packages' own packages are.
  const folder = await mkdtemp(join(root, 'node_modules/.test-'));
  await mkdir(join(folder, 'node_modules/@platform-run'), { recursive: true });
  await symlink(join(root, 'packages/agent'), join(folder, 'node_modules/@platform-run/agent'));
  await mkdir(join(folder, '.git'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(folder, 'platform.yaml'), 'agentSDK: true\n');
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, '.env'), lines.join(''));
  await writeFile(join(folder, 'src/index.ts'), workerOf(url, config));
  let dev = await startDev(folder);

  const came = (is: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!is()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const response = await dev.fetch(path, { method: 'POST', body: JSON.stringify(body) });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}\n${dev.output}`);
    return response.json();
  };
  const workspace = async (userId: string): Promise<Workspace | null> =>
    (await post('/workspace', { userId })) as Workspace | null;
  return {
    get dev() {
      return dev;
    },
    folder,
    requests: (userId) => asked.get(userId) ?? [],
    hold: (message) => void held.add(message),
    script: (userId, script) => void scripts.set(userId, script),
    say: async (userId, message) =>
      (await post('/say', { userId, chatId: userId, platform: 'test', text: message })) as never,
    command: async (name, ...args) => (await post('/command', { name, args })) as string,
    workspace,
    posted: (chatId, kind = 'message') => posts.filter((one) => one.chatId === chatId && one.kind === kind),
    came,
    async idle(userId) {
      for (;;) {
        const found = await workspace(userId);
        if (found !== null && found.activeRunId === null) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async killAndStart() {
      await dev.kill();
      dev = await startDev(folder);
    },
    async close() {
      await dev.close();
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function toMessage(reply: Exclude<ModelReply, { status: number }>): { content: string | null; tool_calls?: object[] } {
  if (typeof reply === 'string') return { content: reply };
  const calls = reply.calls.map(([name, args], at) => ({
    id: `call_${at}`,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  return { content: reply.content ?? null, tool_calls: calls };
}

/** An answer word by word. */
function streamed({ content, tool_calls: calls = [] }: ReturnType<typeof toMessage>): string {
  const deltas = [
    ...(content ?? '').split(/(?<= )/).map((piece) => ({ content: piece })),
    ...calls.map((call, index) => ({ tool_calls: [{ ...call, index }] })),
  ];
  const chunk = (delta: object, reason: string | null): string =>
    `data: ${JSON.stringify({ model: 'double', choices: [{ delta, finish_reason: reason }] })}\n\n`;
  return `${deltas.map((delta) => chunk(delta, null)).join('')}${chunk({}, 'stop')}data: [DONE]\n\n`;
}

/** `AI` of `env` asks the test's model. */
function workerOf(url: string, config: string): string {
  return `
import { createAgent, defineTool } from '@platform-run/agent';

const AI = {
  async run(model, inputs) {
    const response = await fetch('${url}/chat/completions', { method: 'POST', body: JSON.stringify({ model, ...inputs }) });
    if (!response.ok) throw Object.assign(new Error((await response.json()).error.message), { status: response.status });
    return inputs.stream ? response.body : response.json();
  },
};
const withModel = (env) => new Proxy(env, { get: (target, name) => (name === 'AI' ? AI : target[name]) });
const post = async (body) => void (await (await fetch('${url}/post', { method: 'POST', body: JSON.stringify(body) })).text());
const effect = (chatId, text, key) => post({ kind: 'effect', chatId, text, key });
const hook = (chatId, ...args) => post({ kind: 'hook', chatId, text: JSON.stringify(args) });

const agent = createAgent({
  systemPrompt: (userId) => 'user:' + userId,
  messengers: {
    test: () => ({
      sendMessage: (chatId, text, options) => post({ kind: 'message', chatId, text, key: options?.idempotencyKey }),
      sendDocument: (chatId, filename, content) => post({ kind: 'document', chatId, text: filename + ':' + (typeof content === 'string' ? content : content.length) }),
      sendTypingIndicator: async () => {},
      sendPartialMessage: (chatId, partial) => post({ kind: 'partial', chatId, text: JSON.stringify(partial) }),
    }),
  },
  async handle(request, env, agent) {
    const body = await request.json();
    switch (new URL(request.url).pathname) {
      case '/say': return Response.json(await agent.handleMessage(body));
      case '/command': return Response.json(await agent.commands[body.name](...body.args));
      case '/workspace': return Response.json(await agent.state.getJSON('agent:workspace:' + body.userId));
      case '/masked': return Response.json(await agent.workspace(body.userId));
      case '/timer': { await env.PLATFORM_AGENT_SCHEDULER.set(body.id, body.at, { payload: body.payload }); return Response.json(null); }
      case '/move-mcp': { await agent.state.update('agent:workspace:' + body.userId, { $set: { 'mcpServers.0.url': body.url } }); return Response.json(null); }
      case '/get-timer': return Response.json(await env.PLATFORM_AGENT_SCHEDULER.get(body.id));
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

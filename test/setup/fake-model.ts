// What an agent of a test talks to: a model that speaks chat completions by a script of the test, and a chat that keeps
// what it is sent. One server, that outlives the agent's process.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the model is asked. */
interface ModelRequest {
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
  | { readonly status: number; readonly message?: string }
  /** Begins to say it, and never ends. */
  | { readonly begin: string };

/** The model of one user: the request, and how many came before it. */
type Script = (request: ModelRequest, count: number) => ModelReply | Promise<ModelReply>;

/** What the chat or a tool of the test was sent. */
interface Posted {
  readonly kind: 'message' | 'document' | 'partial' | 'effect' | 'hook' | 'timer';
  readonly chatId: string;
  readonly text: string;
  readonly key?: string;
  /** Which messenger sent it. */
  readonly to?: 'given' | 'registered';
}

/** Both, and what came of them. */
export interface FakeModel {
  /** Base of the model's requests; `/post` below it takes what the chat is sent. */
  readonly url: string;
  /** Requests of a user's model. */
  requests(userId: string): readonly ModelRequest[];
  script(userId: string, script: Script): void;
  /** Leaves the next post of this text without an answer. */
  hold(text: string): void;
  /** What came of a kind for a chat so far. */
  posted(chatId: string, kind?: Posted['kind']): readonly Posted[];
  /** Resolves when something is so, looked at whenever something comes. */
  came(is: () => boolean): Promise<void>;
  close(): void;
}

/** Starts them. */
export async function startFakeModel(): Promise<FakeModel> {
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
    const headers = { 'content-type': given.stream === true ? 'text/event-stream' : 'application/json' };
    if (typeof reply === 'object' && 'status' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: reply.message ?? `status ${reply.status}` } }));
    } else if (typeof reply === 'object' && 'begin' in reply) {
      response.writeHead(200, headers);
      response.write(chunkOf({ content: reply.begin }, null));
    } else if (given.stream === true) response.writeHead(200, headers).end(streamed(toMessage(reply)));
    else {
      const choices = [{ index: 0, message: toMessage(reply), finish_reason: 'stop' }];
      const answer = { id: 'c', object: 'chat.completion', model: 'double', choices };
      response.writeHead(200, headers).end(JSON.stringify(answer));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: (userId) => asked.get(userId) ?? [],
    script: (userId, script) => void scripts.set(userId, script),
    hold: (message) => void held.add(message),
    posted: (chatId, kind = 'message') => posts.filter((one) => one.chatId === chatId && one.kind === kind),
    came: (is) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!is()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function toMessage(reply: Exclude<ModelReply, { status: number } | { begin: string }>): {
  content: string | null;
  tool_calls?: object[];
} {
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
  return `${deltas.map((delta) => chunkOf(delta, null)).join('')}${chunkOf({}, 'stop')}data: [DONE]\n\n`;
}

function chunkOf(delta: object, reason: string | null): string {
  return `data: ${JSON.stringify({ model: 'double', choices: [{ delta, finish_reason: reason }] })}\n\n`;
}

// Connects the agent to the page. A run may continue in another isolate than the page's connection, so its output
// goes through the state: the conversation, which the agent keeps there, and the answer being generated.
import type { AgentContext, ChatMessage, Messenger } from '@platform-run/agent';

const LOOK_MS = 150;
/** After this, the page reconnects. */
const STREAM_MS = 50_000;
const PARTIAL_SECONDS = 120;

const partialKey = (chatId: string): string => `partial:${chatId}`;

/** The messenger of the agent. */
export function chat({ PLATFORM_AGENT_STATE: state }: PlatformEnv): Messenger {
  return {
    // The conversation has it by now.
    sendMessage: (chatId) => state.delete(partialKey(chatId)),
    sendPartialMessage: (chatId, { text }) =>
      state.put(partialKey(chatId), text, { expirationTtl: PARTIAL_SECONDS }).then(() => {}),
    async sendDocument() {},
    async sendTypingIndicator() {},
  };
}

/** The conversation as server-sent events: all of it at every change. */
export function liveEvents(userId: string, env: PlatformEnv, agent: AgentContext<PlatformEnv>): Response {
  let isGone = false;
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      const until = Date.now() + STREAM_MS;
      let last = '';
      while (!isGone && Date.now() < until) {
        const view = JSON.stringify(await viewOf(userId, env, agent));
        if (view !== last) controller.enqueue(new TextEncoder().encode(`data: ${view}\n\n`));
        last = view;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
      if (!isGone) controller.close();
    },
    cancel() {
      isGone = true;
    },
  });
  return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } });
}

/** Data for the page. */
async function viewOf(userId: string, env: PlatformEnv, agent: AgentContext<PlatformEnv>): Promise<object> {
  const [workspace, partial] = await Promise.all([
    agent.workspace(userId),
    env.PLATFORM_AGENT_STATE.get(partialKey(userId)),
  ]);
  const { messages = [], queue = [], activeRunId = null, scheduledTasks = [] } = workspace ?? {};
  return {
    messages: messages.flatMap((message) => shown(message, messages)),
    waiting: queue.map(({ text }) => text),
    partial: activeRunId === null ? null : partial,
    isBusy: activeRunId !== null,
    reminders: scheduledTasks.map(({ description, scheduledTime }) => ({ description, scheduledTime })),
  };
}

function shown(message: ChatMessage, all: readonly ChatMessage[]): object[] {
  if (message.role === 'user') return [{ role: message.scheduled ? 'reminder' : 'user', text: message.content }];
  if (message.role === 'tool') return [];
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => {
    const result = all.find((one) => one.role === 'tool' && one.tool_call_id === id && one.runId === message.runId);
    return { role: 'tool', text: `${name}(${args})`, result: result?.content ?? null };
  });
  return [...(message.content ? [{ role: 'assistant', text: message.content }] : []), ...calls];
}

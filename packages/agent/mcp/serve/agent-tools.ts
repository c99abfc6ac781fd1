// Tools for clients of the Model Context Protocol: the author's tools that need no approval, and two that send the
// agent a message and fetch its answer. Called by endpoint.ts.
import type { AgentConfig, AgentContext, AgentEnv, McpServing, ToolContext } from '../../config-types.ts';
import { MCP_PLATFORM, messengerOf } from '../../messengers.ts';
import type { ResolvedAgent } from '../../resolved-agent.ts';
import { conceal } from '../../secrets.ts';
import { bounded } from '../../tool-calls.ts';
import { toolError, type InnerContext, type ReadyTool } from '../../tools/tool.ts';
import { readWorkspace } from '../../workspaces.ts';
import { answerTo } from './answers.ts';
import type { Served } from './rpc.ts';

const ASK = 'ask_agent';
const GET_ANSWER = 'get_answer';
/** Clients time out after a minute. */
const WAIT_MS = 45_000;
const LOOK_MS_LEAST = 50;
const LOOK_MS_MOST = 1000;

const own: Served['tools'] = [
  {
    name: ASK,
    description: 'Sends the agent a message and waits for its answer. The agent remembers the conversation.',
    inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  },
  {
    name: GET_ANSWER,
    description: `Waits for the answer to a message that ${ASK} gave no answer to yet.`,
    inputSchema: { type: 'object', properties: { messageId: { type: 'string' } }, required: ['messageId'] },
  },
];

/** The author's tools that are served. @throws TypeError when a listed tool cannot be served. */
export function servedTools<Env extends AgentEnv>(
  { tools }: ResolvedAgent<Env>,
  { tools: written = [] }: AgentConfig<Env>,
  { tools: names }: McpServing<Env>,
): readonly ReadyTool[] {
  const asksNobody = written.filter(({ approval = false }) => approval === false).map(({ name }) => name);
  for (const name of names ?? [])
    if (!asksNobody.includes(name))
      throw new TypeError(`mcpServer.tools: ${name} is not one of your tools without approval`);
  for (const { name } of written)
    if (own.some((tool) => tool.name === name)) throw new TypeError(`mcpServer has a tool ${name} of its own`);
  return tools.filter(({ name }) => (names ?? asksNobody).includes(name));
}

/** Tools served to one user. */
export function servedTo<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  tools: readonly ReadyTool[],
  name: string,
  userId: string,
  agent: AgentContext<Env>,
): Served {
  return {
    name,
    tools: [
      ...own,
      ...tools.map((tool) => ({ name: tool.name, description: tool.description, inputSchema: tool.parameters })),
    ],
    async call(called, args) {
      try {
        const tool = tools.find((known) => known.name === called);
        if (tool !== undefined) return { text: await run(resolved, tool, args, userId, agent.env), isError: false };
        return await talk(called, args, userId, agent);
      } catch (error) {
        return { text: error instanceof Error ? error.message : String(error), isError: true };
      }
    },
  };
}

/** Runs a tool outside of a conversation. */
async function run<Env extends AgentEnv>(
  { config }: ResolvedAgent<Env>,
  tool: ReadyTool,
  args: unknown,
  userId: string,
  env: Env,
): Promise<string> {
  const checked = await tool.check(args);
  const memory = (await readWorkspace(env.PLATFORM_AGENT_STATE, userId))?.memory ?? {};
  const id = crypto.randomUUID();
  const controller = new AbortController();
  const ctx: ToolContext<Env> = {
    userId,
    chatId: userId,
    env,
    state: env.PLATFORM_AGENT_STATE,
    messenger: messengerOf(config, env, { platform: MCP_PLATFORM, chatId: userId }),
    runId: `mcp-${id}`,
    step: 0,
    toolCallId: id,
    idempotencyKey: `mcp-${id}`,
    signal: controller.signal,
    memory,
  };
  const late = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
  });
  const timer = setTimeout(
    () => controller.abort(toolError(`The tool ${tool.name} did not end within ${tool.timeoutMs} ms`)),
    tool.timeoutMs,
  );
  try {
    const result: unknown = await Promise.race([tool.execute(checked as never, ctx as unknown as InnerContext), late]);
    return conceal(bounded(typeof result === 'string' ? result : (JSON.stringify(result) ?? '')), memory);
  } catch (error) {
    throw new Error(conceal(error instanceof Error ? error.message : String(error), memory), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Sends a message, if there is one, and waits for the answer. */
async function talk<Env extends AgentEnv>(
  tool: string,
  args: unknown,
  userId: string,
  agent: AgentContext<Env>,
): Promise<{ text: string; isError: boolean }> {
  const given = (args ?? {}) as { message?: unknown; messageId?: unknown };
  let { messageId } = given;
  if (tool === ASK) {
    if (typeof given.message !== 'string') throw toolError('Invalid arguments: message must be a text');
    const sent = { userId, chatId: userId, platform: MCP_PLATFORM, text: given.message };
    ({ messageId } = await agent.handleMessage(sent));
  }
  if (typeof messageId !== 'string') throw toolError('Invalid arguments: messageId must be a text');
  const until = Date.now() + WAIT_MS;
  for (let pause = LOOK_MS_LEAST; ; pause = Math.min(pause * 2, LOOK_MS_MOST)) {
    const answer = answerTo(messageId, await readWorkspace(agent.env.PLATFORM_AGENT_STATE, userId));
    if (answer.is === 'said') return answer;
    if (answer.is === 'unknown') throw toolError(`There is no reply to the message ${messageId}`);
    const later = `Call ${GET_ANSWER} with messageId "${messageId}" later.`;
    if (answer.approval !== null)
      return { text: `The user has to approve a call of ${answer.approval} first. ${later}`, isError: false };
    if (Date.now() + pause > until) return { text: `The agent is still working. ${later}`, isError: false };
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// The step that calls the model, and the step before it that shortens a long conversation. Called by run.ts.
import { compress, compressible, summarise } from '../compression.ts';
import type { AgentEnv, RunPartial } from '../config-types.ts';
import { askModel, promptMessages, systemText, toMessage } from '../model.ts';
import type { ResolvedAgent } from '../resolved-agent.ts';
import { conceal, concealError } from '../secrets.ts';
import { changeOwn, concealCalls, ownWorkspace, type Scope } from '../tool-calls.ts';
import type { AssistantMessage } from '../workspace-types.ts';
import { warn } from './durable.ts';
import { hookContext } from './hooks.ts';

/** Replaces the older part by a summary if the prompt is too long. */
export async function compressHistory<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
): Promise<true> {
  const workspace = await ownWorkspace(scope);
  const options = resolved.config.contextCompression ?? {};
  const count = compressible(workspace, systemText(await promptOf(resolved, scope), workspace), options);
  if (count === 0) return true;
  let summary: string | null = null;
  try {
    const { conversationSummary, messages } = workspace;
    summary = await summarise(scope.env.AI, resolved.model, conversationSummary, messages.slice(0, count), options);
  } catch (error) {
    warn(error);
  }
  await changeOwn(scope, (current) =>
    compress(current, count, summary === null ? null : conceal(summary, current.memory)),
  );
  return true;
}

async function promptOf<Env extends AgentEnv>({ config }: ResolvedAgent<Env>, { userId }: Scope<Env>): Promise<string> {
  return typeof config.systemPrompt === 'string' ? config.systemPrompt : config.systemPrompt(userId);
}

/** One answer of the model, in a format that can be stored. */
export async function callModel<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
  n: number,
): Promise<{ reply: AssistantMessage; isDebug: boolean }> {
  const workspace = await ownWorkspace(scope);
  const { messenger, chatId, runId } = scope;
  await messenger.sendTypingIndicator(chatId).catch(warn);
  const system = systemText(await promptOf(resolved, scope), workspace);
  const tools = resolved
    .toolsOf(workspace)
    .map(({ name, description, parameters }) => ({ name, description, parameters }));
  const onPartial = async (partial: RunPartial): Promise<void> => {
    try {
      await resolved.config.hooks?.onRunPartial?.(hookContext(resolved, scope, n), partial);
      await messenger.sendPartialMessage?.(chatId, partial);
    } catch (error) {
      warn(error);
    }
  };
  const answer = await askModel(
    scope.env.AI,
    resolved.model,
    {
      messages: [{ role: 'system', content: system }, ...promptMessages(workspace.messages, workspace, runId)],
      tools,
    },
    { runId, step: n },
    resolved.config.streaming,
    onPartial,
  ).catch((error: unknown) => {
    throw concealError(error, workspace.memory);
  });
  // Results of steps contain no secrets: operators can see the history of a run.
  const { calls, pending, memory } = concealCalls(answer.calls, n, workspace.memory);
  if (Object.keys(pending).length > 0)
    await changeOwn(scope, (current) => {
      current.pendingSecrets = { ...current.pendingSecrets, ...pending };
    });
  const content = answer.content === null ? null : conceal(answer.content, memory);
  return { reply: toMessage({ ...answer, content, calls }, runId, n), isDebug: workspace.debugMode };
}

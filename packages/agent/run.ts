// One run: the loop of calls of the model and of tools, each a durable step. A step that was done is not done again,
// whichever engine goes on with the run; a workspace that went on without the run ends it. Called by agent.ts.
import type { WorkflowContext, WorkflowStep } from '@platform-run/types';
import { compress, compressible, summarise } from './compression.ts';
import type { AgentEnv, HookContext, RunPartial } from './config-types.ts';
import { nextRunId, startRun, takeNext, type RunInput } from './inbox.ts';
import { messengerOf } from './messengers.ts';
import { askModel, promptMessages, systemText, toMessage } from './model.ts';
import type { Parts } from './parts.ts';
import { conceal, reveal } from './secrets.ts';
import {
  argumentsOf,
  callKey,
  changeOwn,
  concealCalls,
  findTool,
  ownWorkspace,
  runTool,
  type Scope,
} from './tool-calls.ts';
import type { HookCall } from './tools/tool.ts';
import type { AssistantMessage, ToolCall, ToolMessage } from './workspace-types.ts';
import { changeWorkspace, readWorkspace, Superseded } from './workspaces.ts';

/** How a run ended. */
export interface RunResult {
  readonly status: 'replied' | 'max_steps' | 'failed' | 'superseded';
}

/** What became of a call; null: the run was superseded. */
type CallResult = { readonly content: string; readonly isError: boolean } | null;

const FAILURE_TEXT = 'Something went wrong. Please try again.';
const CALLS_MAX = 32;
const MODEL_TIMEOUT_MS = 120_000;
const APPROVAL_TIMEOUT_MS = 24 * 60 * 60 * 1000;
const DENIED = 'Error: The user did not approve this call.';

/** Runs the loop for the message that the workspace holds. */
export async function runAgent<Env extends AgentEnv>(
  parts: Parts<Env>,
  { input, step, env, log, executionId: runId }: WorkflowContext<RunInput, Env>,
): Promise<RunResult> {
  const scope = scopeOf(parts, env, input, runId);
  try {
    if (parts.isCompressed && (await durable(step, 'compress_1', () => compressHistory(parts, scope))) === null)
      return { status: 'superseded' };
    for (let n = 1; ; n++) {
      const answered = await durable(step, `ai_call_${n}`, () => callModel(parts, scope, n), {
        timeoutMs: parts.config.modelTimeoutMs ?? MODEL_TIMEOUT_MS,
      });
      if (answered === null) return { status: 'superseded' };
      const { reply, isDebug } = answered;
      const calls = reply.tool_calls ?? [];
      if (calls.length === 0 || n >= parts.maxSteps) {
        const isStopped = calls.length > 0;
        const text = isStopped
          ? `I reached the maximum number of steps (${parts.maxSteps}) and stopped.`
          : (reply.content?.trim() ?? '') || 'The model gave no answer.';
        return await finish(parts, scope, step, n, text, isStopped);
      }
      const results: ToolMessage[] = [];
      for (const [at, call] of calls.entries()) {
        const result = await callTool(parts, scope, step, n, at, call);
        if (result === null) return { status: 'superseded' };
        if (isDebug) await showCall(scope, step, n, call, result);
        results.push({
          role: 'tool',
          content: result.content,
          tool_call_id: call.id,
          name: call.function.name,
          timestamp: Date.now(),
          runId,
          ...(result.isError && { isError: true }),
        });
      }
      if ((await durable(step, `save_step_${n}`, () => saveStep(scope, reply, results))) === null)
        return { status: 'superseded' };
    }
  } catch (error) {
    log('The run failed', { error: (error as Error).message });
    return fail(parts, scope, step, error as Error);
  }
}

/** What is left to do when the handler itself failed, outside of any step. */
export async function onRunLost<Env extends AgentEnv>(
  parts: Parts<Env>,
  error: Error,
  { input, env, executionId: runId }: WorkflowContext<RunInput, Env>,
): Promise<void> {
  const scope = scopeOf(parts, env, input, runId);
  if ((await saveFailure(scope)) === true) {
    await scope.messenger.sendMessage(scope.chatId, FAILURE_TEXT, { idempotencyKey: `${runId}:error` }).catch(warn);
    await Promise.resolve(parts.config.hooks?.onRunError?.(hookContext(parts, scope, 0), error)).catch(warn);
  }
  await release(parts, scope);
}

function scopeOf<Env extends AgentEnv>(parts: Parts<Env>, env: Env, input: RunInput, runId: string): Scope<Env> {
  const { userId, chatId, platform } = input;
  const messenger = messengerOf(parts.config, parts.live, env, platform, chatId);
  return { env, userId, chatId, platform, runId, messenger };
}

/** A step; null when the workspace went on without the run. */
async function durable<Result>(
  step: WorkflowStep,
  name: string,
  fn: () => Promise<Result>,
  options?: { retries?: number; timeoutMs?: number },
): Promise<Result | null> {
  const { value } = await step.run(
    name,
    async (): Promise<{ value: Result | null }> => {
      try {
        return { value: await fn() };
      } catch (error) {
        if (error instanceof Superseded) return { value: null };
        throw error;
      }
    },
    options,
  );
  return value;
}

async function compressHistory<Env extends AgentEnv>(parts: Parts<Env>, scope: Scope<Env>): Promise<true> {
  const workspace = await ownWorkspace(scope);
  const options = parts.config.contextCompression ?? {};
  const count = compressible(workspace, systemText(await promptOf(parts, scope), workspace), options);
  if (count === 0) return true;
  let summary: string | null = null;
  try {
    const { conversationSummary, messages } = workspace;
    summary = await summarise(scope.env.AI, parts.model, conversationSummary, messages.slice(0, count), options);
  } catch (error) {
    warn(error);
  }
  await changeOwn(scope, (current) =>
    compress(current, count, summary === null ? null : conceal(summary, current.memory)),
  );
  return true;
}

async function promptOf<Env extends AgentEnv>({ config }: Parts<Env>, { userId }: Scope<Env>): Promise<string> {
  return typeof config.systemPrompt === 'string' ? config.systemPrompt : config.systemPrompt(userId);
}

async function callModel<Env extends AgentEnv>(
  parts: Parts<Env>,
  scope: Scope<Env>,
  n: number,
): Promise<{ reply: AssistantMessage; isDebug: boolean }> {
  const workspace = await ownWorkspace(scope);
  const { messenger, chatId, runId } = scope;
  await messenger.sendTypingIndicator(chatId).catch(warn);
  const system = systemText(await promptOf(parts, scope), workspace);
  const tools = parts
    .toolsOf(workspace)
    .map(({ name, description, parameters }) => ({ name, description, parameters }));
  const onPartial = async (partial: RunPartial): Promise<void> => {
    try {
      await parts.config.hooks?.onRunPartial?.(hookContext(parts, scope, n), partial);
      await messenger.sendPartialMessage?.(chatId, partial);
    } catch (error) {
      warn(error);
    }
  };
  const answer = await askModel(
    scope.env.AI,
    parts.model,
    {
      messages: [{ role: 'system', content: system }, ...promptMessages(workspace.messages, workspace, runId)],
      tools,
    },
    { runId, step: n },
    parts.config.streaming,
    onPartial,
  );
  // Nothing that a step returns has a secret in it: the history of a run is there for operators to see.
  const { calls, pending, memory } = concealCalls(answer.calls, n, workspace.memory);
  if (Object.keys(pending).length > 0)
    await changeOwn(scope, (current) => {
      current.pendingSecrets = { ...current.pendingSecrets, ...pending };
    });
  const content = answer.content === null ? null : conceal(answer.content, memory);
  return { reply: toMessage({ ...answer, content, calls }, runId, n), isDebug: workspace.debugMode };
}

async function callTool<Env extends AgentEnv>(
  parts: Parts<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  at: number,
  call: ToolCall,
): Promise<CallResult> {
  if (at >= CALLS_MAX) return failure(`An answer may call ${CALLS_MAX} tools`);
  const key = callKey(n, at);
  const { name } = call.function;
  const known = parts.tools.find((tool) => tool.name === name);
  const approved = await approvalOf(parts, scope, step, n, at, call);
  if (approved === null) return null;
  if (!approved) return { content: DENIED, isError: true };
  let result: CallResult;
  try {
    // The name comes once for each call: the workflow counts them (`tools_1`, `tools_1#2`).
    const content = await durable(
      step,
      `tools_${n}`,
      async () => {
        const workspace = await ownWorkspace(scope);
        const tool = findTool(parts.toolsOf(workspace), name);
        const args = await argumentsOf(tool, call, key, workspace);
        return runTool(scope, tool, args, { step: n, toolCallId: call.id, key });
      },
      { retries: known?.retries ?? 2, timeoutMs: known?.timeoutMs ?? 60_000 },
    );
    if (content === null) return null;
    result = { content, isError: false };
  } catch (error) {
    result = failure((error as Error).message);
  }
  if (!result.isError && known?.hook !== undefined) {
    const fired = known.hook(JSON.parse(call.function.arguments || '{}') as never, result.content);
    if (fired !== null) await fire(parts, scope, step, n, fired);
  }
  return result;
}

function failure(message: string): { content: string; isError: boolean } {
  return { content: `Error: ${message}`, isError: true };
}

/** Whether a call may go ahead: asks the user where its tool wants that, and waits as long as it takes. */
async function approvalOf<Env extends AgentEnv>(
  parts: Parts<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  at: number,
  call: ToolCall,
): Promise<boolean | null> {
  const tool = parts.config.tools?.find(({ name }) => name === call.function.name);
  if (tool?.approval === undefined || tool.approval === false) return true;
  const key = callKey(n, at);
  const event = `approval:${key}`;
  const id = `${n}.${at + 1}`;
  const asked = await durable(step, `approval_${n}`, async () => {
    const workspace = await ownWorkspace(scope);
    const ready = findTool(parts.tools, call.function.name);
    let args: unknown;
    try {
      args = await argumentsOf(ready, call, key, workspace);
    } catch {
      return { isNeeded: false };
    }
    if (!ready.needsApproval(args)) return { isNeeded: false };
    const { name, arguments: text } = call.function;
    await changeOwn(scope, (current) => {
      const others = current.approvals.filter((pending) => pending.id !== id);
      const pending = { id, runId: scope.runId, event, tool: name, arguments: text, requestedAt: Date.now() };
      current.approvals = [...others, pending];
    });
    const question = `May I call ${name} with ${text.slice(0, 1000)}? It waits for your approval (${id}).`;
    await scope.messenger.sendMessage(scope.chatId, question, { idempotencyKey: `${scope.runId}:${event}` });
    return { isNeeded: true };
  });
  if (asked === null) return null;
  if (!asked.isNeeded) return true;
  let isApproved: boolean;
  try {
    const timeoutMs = parts.config.approvalTimeoutMs ?? APPROVAL_TIMEOUT_MS;
    const { payload } = await step.waitForEvent<{ approved?: unknown }>(`approved_${n}`, { type: event, timeoutMs });
    isApproved = payload?.approved === true;
  } catch {
    isApproved = false;
  }
  // Here and not in the command alone: a question that is asked again after a crash comes after its answer.
  const settled = await durable(step, `settled_${n}`, () =>
    changeOwn(scope, (current) => {
      current.approvals = current.approvals.filter((pending) => pending.id !== id);
      return true;
    }),
  );
  return settled === null ? null : isApproved;
}

/** The answer and what its tools returned, together: a history never has calls without results. */
function saveStep<Env extends AgentEnv>(
  scope: Scope<Env>,
  reply: AssistantMessage,
  results: readonly ToolMessage[],
): Promise<true> {
  return changeOwn(scope, (workspace) => {
    const { memory, messages } = workspace;
    const isSaved = messages.some(
      (message) => message.role === 'assistant' && message.runId === scope.runId && message.step === reply.step,
    );
    delete workspace.pendingSecrets;
    workspace.approvals = [];
    if (isSaved) return true;
    const calls = (reply.tool_calls ?? []).map((call) => ({
      ...call,
      function: { ...call.function, arguments: conceal(call.function.arguments, memory) },
    }));
    const content = reply.content === null ? null : conceal(reply.content, memory);
    messages.push({ ...reply, content, tool_calls: calls });
    for (const result of results) messages.push({ ...result, content: conceal(result.content, memory) });
    return true;
  });
}

async function finish<Env extends AgentEnv>(
  parts: Parts<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  text: string,
  isStopped: boolean,
): Promise<RunResult> {
  const { runId, chatId, messenger } = scope;
  const saved = await durable(step, `save_final_${n}`, () =>
    changeOwn(scope, (workspace) => {
      const isSaved = workspace.messages.some(
        (message) => message.role === 'assistant' && message.runId === runId && message.step === n,
      );
      const content = conceal(text, workspace.memory);
      if (!isSaved) workspace.messages.push({ role: 'assistant', content, timestamp: Date.now(), runId, step: n });
      return true;
    }),
  );
  if (saved === null) return { status: 'superseded' };
  await optional(step, `send_final_${n}`, async () => {
    const { memory } = await ownWorkspace(scope);
    await messenger.sendMessage(chatId, reveal(text, memory), { idempotencyKey: `${runId}:final` });
  });
  await optional(step, 'hook_onRunComplete', async () => {
    const { memory } = await ownWorkspace(scope);
    const reason = isStopped ? 'max_steps' : 'reply';
    await parts.config.hooks?.onRunComplete?.(hookContext(parts, scope, n), reveal(text, memory), reason);
  });
  await step.run('release', () => release(parts, scope));
  return { status: isStopped ? 'max_steps' : 'replied' };
}

async function fail<Env extends AgentEnv>(
  parts: Parts<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  error: Error,
): Promise<RunResult> {
  const { runId, chatId, messenger } = scope;
  const saved = await durable(step, 'save_error', () => saveFailure(scope));
  if (saved !== true) return { status: 'superseded' };
  await optional(step, 'send_error', () =>
    messenger.sendMessage(chatId, FAILURE_TEXT, { idempotencyKey: `${runId}:error` }),
  );
  await optional(step, 'hook_onRunError', async () => {
    await parts.config.hooks?.onRunError?.(hookContext(parts, scope, 0), error);
  });
  await step.run('release', () => release(parts, scope));
  return { status: 'failed' };
}

/** Writes the failure down; false when the run has no workspace any more. */
async function saveFailure<Env extends AgentEnv>(scope: Scope<Env>): Promise<boolean> {
  const { runId } = scope;
  try {
    return await changeOwn(scope, ({ messages }) => {
      const isSaved = messages.some(
        (message) => message.role === 'assistant' && message.runId === runId && message.isError,
      );
      if (!isSaved)
        messages.push({ role: 'assistant', content: FAILURE_TEXT, timestamp: Date.now(), isError: true, runId });
      return true;
    });
  } catch (error) {
    if (error instanceof Superseded) return false;
    throw error;
  }
}

/** Frees the workspace, or gives it to the run of the next message, and starts that. Twice does nothing more. */
async function release<Env extends AgentEnv>(parts: Parts<Env>, { env, userId, runId }: Scope<Env>): Promise<void> {
  const next = nextRunId(runId);
  const workspace = await changeWorkspace(env.PLATFORM_AGENT_STATE, userId, (current) => {
    if (current?.activeRunId !== runId) return [undefined, current];
    takeNext(current, next, parts.isCompressed);
    return [current, current];
  });
  if (workspace?.activeRunId === next) await startRun(env.PLATFORM_AGENT_WORKFLOW, workspace);
}

/** Shows a call in debug mode. */
async function showCall<Env extends AgentEnv>(
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  { function: { name, arguments: args } }: ToolCall,
  result: NonNullable<CallResult>,
): Promise<void> {
  await optional(step, `debug_${n}`, async () => {
    const text = `[debug] ${name}(${args.slice(0, 500)}) -> ${result.content.slice(0, 500)}`;
    await scope.messenger.sendMessage(scope.chatId, text);
  });
}

/** Fires a hook of a built-in tool, with the arguments as the tool had them but for secrets. */
async function fire<Env extends AgentEnv>(
  parts: Parts<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  n: number,
  [name, ...args]: HookCall,
): Promise<void> {
  const hook = parts.config.hooks?.[name] as ((ctx: HookContext<Env>, ...args: unknown[]) => unknown) | undefined;
  if (hook === undefined) return;
  await optional(step, `hook_${name}`, async () => {
    await hook.call(parts.config.hooks, hookContext(parts, scope, n), ...args);
  });
}

/** A step that may fail for good without failing the run: the log has it. */
async function optional(step: WorkflowStep, name: string, fn: () => Promise<void>): Promise<void> {
  try {
    await durable(step, name, fn);
  } catch (error) {
    warn(error);
  }
}

function hookContext<Env extends AgentEnv>(parts: Parts<Env>, scope: Scope<Env>, n: number): HookContext<Env> {
  const { userId, chatId, env } = scope;
  return {
    userId,
    chatId,
    env,
    state: env.PLATFORM_AGENT_STATE,
    async execute(toolName, args) {
      const workspace = await readWorkspace(env.PLATFORM_AGENT_STATE, userId);
      const tool = findTool(parts.toolsOf(workspace), toolName);
      const key = `hook:${n}:${toolName}`;
      return runTool(scope, tool, await tool.check(args), { step: n, toolCallId: key, key });
    },
  };
}

function warn(error: unknown): void {
  console.warn(`The agent goes on after an error: ${error instanceof Error ? error.message : String(error)}`);
}

// One run: the loop of model calls and tool calls, each a durable step. A completed step is not repeated, whichever
// engine continues the run; a run whose workspace has moved on ends. Called by agent.ts.
import type { WorkflowContext } from '@platform-run/types';
import type { AgentEnv } from '../config-types.ts';
import type { RunInput } from '../inbox.ts';
import { messengerOf } from '../messengers.ts';
import type { ResolvedAgent } from '../resolved-agent.ts';
import type { Scope } from '../tool-calls.ts';
import type { ToolMessage } from '../workspace-types.ts';
import { durable, warn } from './durable.ts';
import { hookContext, showCall } from './hooks.ts';
import { callModel, compressHistory } from './model-step.ts';
import { fail, FAILURE_TEXT, finish, logFailure, release, saveFailure, type RunResult } from './run-end.ts';
import { callTool, saveStep } from './tool-step.ts';

const MODEL_TIMEOUT_MS = 120_000;

/** Runs the loop for the current message of the workspace. */
export async function runAgent<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  { input, step, env, log, executionId: runId }: WorkflowContext<RunInput, Env>,
): Promise<RunResult> {
  const scope = scopeOf(resolved, env, input, runId);
  try {
    if (resolved.isCompressed && (await durable(step, 'compress_1', () => compressHistory(resolved, scope))) === null)
      return { status: 'superseded' };
    for (let n = 1; ; n++) {
      const answered = await durable(step, `ai_call_${n}`, () => callModel(resolved, scope, n), {
        timeoutMs: resolved.config.modelTimeoutMs ?? MODEL_TIMEOUT_MS,
      });
      if (answered === null) return { status: 'superseded' };
      const { reply, isDebug } = answered;
      const calls = reply.tool_calls ?? [];
      if (calls.length === 0 || n >= resolved.maxSteps) {
        const isStopped = calls.length > 0;
        const text = isStopped
          ? `I reached the maximum number of steps (${resolved.maxSteps}) and stopped.`
          : (reply.content?.trim() ?? '') || 'The model gave no answer.';
        return await finish(resolved, scope, step, n, text, isStopped);
      }
      const results: ToolMessage[] = [];
      for (const [at, call] of calls.entries()) {
        const result = await callTool(resolved, scope, step, n, at, call);
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
    return fail(resolved, scope, step, error as Error);
  }
}

/** Cleans up when the handler itself failed, outside of any step. */
export async function onRunLost<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  error: Error,
  { input, env, executionId: runId }: WorkflowContext<RunInput, Env>,
): Promise<void> {
  const scope = scopeOf(resolved, env, input, runId);
  if ((await saveFailure(scope)) === true) {
    logFailure(runId, error);
    await scope.messenger.sendMessage(scope.chatId, FAILURE_TEXT, { idempotencyKey: `${runId}:error` }).catch(warn);
    await Promise.resolve(resolved.config.hooks?.onRunError?.(hookContext(resolved, scope, 0), error)).catch(warn);
  }
  await release(resolved, scope);
}

function scopeOf<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  env: Env,
  input: RunInput,
  runId: string,
): Scope<Env> {
  const { userId, chatId, platform, relay } = input;
  const messenger = messengerOf(resolved.config, env, { platform, chatId, relay });
  return { env, userId, chatId, platform, runId, messenger, relay };
}

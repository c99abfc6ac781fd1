// Ends a run: stores and sends the last answer or the failure and calls the hooks, each in a step, and moves the
// workspace to the next message. Called by run.ts.
import type { WorkflowStep } from '@platform-run/types';
import type { AgentEnv } from '../config-types.ts';
import { capHistory } from '../history.ts';
import { nextRunId, startRun, takeNext } from '../inbox.ts';
import { closeRelay } from '../relay.ts';
import type { ResolvedAgent } from '../resolved-agent.ts';
import { conceal, reveal } from '../secrets.ts';
import { changeOwn, ownWorkspace, type Scope } from '../tool-calls.ts';
import { changeWorkspace, Superseded } from '../workspaces.ts';
import { durable, optional } from './durable.ts';
import { hookContext } from './hooks.ts';

/** Result of a run. */
export interface RunResult {
  readonly status: 'replied' | 'max_steps' | 'failed' | 'superseded';
}

/** Text for the user after a failed run. */
export const FAILURE_TEXT = 'Something went wrong. Please try again.';

/** Ends a run with a reply to the user. */
export async function finish<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
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
      if (!resolved.isCompressed) workspace.messages = capHistory(workspace.messages);
      return true;
    }),
  );
  if (saved === null) return { status: 'superseded' };
  await optional(step, runId, `send_final_${n}`, async () => {
    const { memory } = await ownWorkspace(scope);
    await messenger.sendMessage(chatId, reveal(text, memory), { idempotencyKey: `${runId}:final` });
  });
  await optional(step, runId, 'hook_onRunComplete', async () => {
    const { memory } = await ownWorkspace(scope);
    const reason = isStopped ? 'max_steps' : 'reply';
    await resolved.config.hooks?.onRunComplete?.(hookContext(resolved, scope, n), reveal(text, memory), reason);
  });
  await step.run('release', () => release(resolved, scope));
  return { status: isStopped ? 'max_steps' : 'replied' };
}

/** Ends the run with an error. */
export async function fail<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  scope: Scope<Env>,
  step: WorkflowStep,
  error: Error,
): Promise<RunResult> {
  const { runId, chatId, messenger } = scope;
  const saved = await durable(step, 'save_error', async () => {
    const isOwn = await saveFailure(scope);
    // The failure is logged once, because a process that takes over the run finds this step completed.
    if (isOwn) logFailure(runId, error);
    return isOwn;
  });
  if (saved !== true) return { status: 'superseded' };
  await optional(step, runId, 'send_error', () =>
    messenger.sendMessage(chatId, FAILURE_TEXT, { idempotencyKey: `${runId}:error` }),
  );
  await optional(step, runId, 'hook_onRunError', async () => {
    await resolved.config.hooks?.onRunError?.(hookContext(resolved, scope, 0), error);
  });
  await step.run('release', () => release(resolved, scope));
  return { status: 'failed' };
}

/** The author's log has the reason; the user only learns that the run failed. */
export function logFailure(runId: string, error: Error): void {
  // A NonRetryableError only wraps the error that readers of the log need.
  const shown = error.name === 'NonRetryableError' && error.cause instanceof Error ? error.cause : error;
  console.error(`The agent's run ${runId} failed:`, shown);
}

/** Stores the failure; false if the run no longer owns a workspace. */
export async function saveFailure<Env extends AgentEnv>(scope: Scope<Env>): Promise<boolean> {
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

/** Frees the workspace, or assigns it to the run of the next message and starts that. Idempotent. */
export async function release<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  { env, userId, runId, relay }: Scope<Env>,
): Promise<void> {
  const next = nextRunId(runId);
  const workspace = await changeWorkspace(env.PLATFORM_AGENT_STATE, userId, (current) => {
    if (current?.activeRunId !== runId) return [undefined, current];
    takeNext(current, next, resolved.isCompressed);
    return [current, current];
  });
  if (relay !== undefined) await closeRelay(env, relay);
  if (workspace?.activeRunId === next) await startRun(env.PLATFORM_AGENT_WORKFLOW, workspace);
}

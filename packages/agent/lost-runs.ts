// Runs that ended without releasing their workspace: an operator cancelled a run, or the process that activated it died
// before starting it. Detected with the next message, and by a timer per user while a run is active. Called by
// agent.ts.
import type { TimerEvent } from '@platform-run/types';
import type { AgentEnv } from './config-types.ts';
import { isOver, nextRunId, startRun, takeNext } from './inbox.ts';
import { messengerOf } from './messengers.ts';
import type { ResolvedAgent } from './resolved-agent.ts';
import { warn } from './run/durable.ts';
import { FAILURE_TEXT } from './run/run-end.ts';
import type { Workspace } from './workspace-types.ts';
import { changeWorkspace, readWorkspace } from './workspaces.ts';

const WATCH_MS = 5 * 60_000;
const PREFIX = 'agent-watch:';

/** Schedules a check of the user's workspace. Without this check, a lost run is detected with the next message. */
export async function watch({ PLATFORM_AGENT_SCHEDULER: scheduler }: AgentEnv, userId: string): Promise<void> {
  const id = `${PREFIX}${JSON.stringify(userId)}`;
  await scheduler.set(id, Date.now() + WATCH_MS, { payload: { userId } }).catch(warn);
}

/** The user id of a timer that checks for a lost run; null for other timers. */
export function watchedBy({ id, payload }: TimerEvent): string | null {
  const { userId } = (payload ?? {}) as { userId?: unknown };
  return typeof userId === 'string' && id === `${PREFIX}${JSON.stringify(userId)}` ? userId : null;
}

/** Checks the run of a user, and schedules the next check while a run is active. */
export async function lookAfter<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  env: Env,
  userId: string,
): Promise<void> {
  await freeLost(resolved, env, userId);
  const workspace = await readWorkspace(env.PLATFORM_AGENT_STATE, userId);
  if (workspace === null || workspace.activeRunId === null) return;
  await startRun(env.PLATFORM_AGENT_WORKFLOW, workspace);
  await watch(env, userId);
}

/** If the active run is lost, notifies the user and starts the next message. */
export async function freeLost<Env extends AgentEnv>(
  resolved: ResolvedAgent<Env>,
  env: Env,
  userId: string,
): Promise<void> {
  const state = env.PLATFORM_AGENT_STATE;
  const before = await readWorkspace(state, userId);
  const lost = before?.activeRunId ?? null;
  if (before === null || lost === null || !(await isOver(env.PLATFORM_AGENT_WORKFLOW, lost))) return;
  const { chatId, platform, relay } = before;
  const freed = await changeWorkspace<Workspace | null>(state, userId, (current) => {
    if (current?.activeRunId !== lost) return [undefined, null];
    const timestamp = Date.now();
    current.messages.push({ role: 'assistant', content: FAILURE_TEXT, timestamp, isError: true, runId: lost });
    takeNext(current, nextRunId(lost), resolved.isCompressed);
    return [current, current];
  });
  if (freed === null) return;
  console.error(`The agent's run ${lost} ended without an answer, as when an operator cancels it`);
  const messenger = messengerOf(resolved.config, env, { platform, chatId, relay });
  await messenger.sendMessage(chatId, FAILURE_TEXT, { idempotencyKey: `${lost}:error` }).catch(warn);
  await startRun(env.PLATFORM_AGENT_WORKFLOW, freed);
}

// Messages of users and scheduled tasks: the queue of a workspace, and the run that takes the next message. The state
// determines the active run; the workflow starts it, once per id.
import type { WorkflowBinding } from '@platform-run/types';
import { capHistory } from './history.ts';
import { conceal } from './secrets.ts';
import type { QueuedMessage, Workspace } from './workspace-types.ts';

/** Input of a run of the workflow. */
export interface RunInput {
  readonly userId: string;
  readonly chatId: string;
  readonly platform: string;
  /** Id of the relay to the messenger of the message (relay.ts). */
  readonly relay?: string;
}

export const TEXT_CHARS_MAX = 100_000;
const QUEUE_MAX = 100;
/** Limit for conversations with compression, which are shortened much earlier. */
const COMPRESSED_MAX = 1000;

/** Id of a new run. Runs for queued messages that follow this run have consecutive ids. */
export function newRunId(): string {
  return `${crypto.randomUUID()}-1`;
}

/** Id of the run that follows a run. The same run always gets the same successor. */
export function nextRunId(runId: string): string {
  const [, stem = runId, count = '0'] = /^(.*)-(\d+)$/.exec(runId) ?? [];
  return `${stem}-${Number(count) + 1}`;
}

/** Ends the active run of a workspace and, if a message is queued, makes `runId` the run that answers it. */
export function takeNext(workspace: Workspace, runId: string, isCompressed: boolean): string | null {
  workspace.activeRunId = null;
  workspace.approvals = [];
  delete workspace.relay;
  delete workspace.pendingSecrets;
  const next = workspace.queue.shift();
  if (next === undefined) return null;
  workspace.activeRunId = runId;
  workspace.chatId = next.chatId ?? workspace.chatId;
  workspace.platform = next.platform ?? workspace.platform;
  if (next.relay !== undefined) workspace.relay = next.relay;
  workspace.messages.push({
    role: 'user',
    content: conceal(next.text, workspace.memory),
    timestamp: next.timestamp,
    ...(next.scheduled === true && { scheduled: true }),
    ...(next.id !== undefined && { id: next.id }),
  });
  workspace.messages = capHistory(workspace.messages, isCompressed ? COMPRESSED_MAX : undefined);
  return runId;
}

/** Accepts a message. @returns the active run, and whether the message is queued. */
export function takeIn(
  workspace: Workspace,
  message: QueuedMessage,
  runId: string,
  isCompressed: boolean,
): { runId: string; queued: boolean } {
  if (workspace.queue.length >= QUEUE_MAX)
    throw new RangeError(`${QUEUE_MAX} messages wait already; send it again when they are answered`);
  workspace.queue.push(message);
  if (workspace.activeRunId !== null) return { runId: workspace.activeRunId, queued: true };
  takeNext(workspace, runId, isCompressed);
  return { runId, queued: workspace.queue.length > 0 };
}

/** Whether the message with this relay is being answered or queued. */
export function isWaitedFor(workspace: Workspace | null, relay: string): boolean {
  if (workspace === null) return false;
  if (workspace.queue.some((message) => message.relay === relay)) return true;
  return workspace.relay === relay && workspace.activeRunId !== null;
}

/** Starts the run of a workspace; calling it again has no effect. */
export async function startRun(workflow: WorkflowBinding, workspace: Workspace): Promise<void> {
  const { activeRunId, userId, chatId, platform, relay } = workspace;
  if (activeRunId === null) return;
  const input: RunInput = { userId, chatId, platform, ...(relay !== undefined && { relay }) };
  await workflow.trigger(input, { id: activeRunId });
}

/**
 * Whether the run can no longer free its workspace: it ended without doing so, for example cancelled by an operator.
 */
export async function isOver(workflow: WorkflowBinding, runId: string): Promise<boolean> {
  const run = await workflow.getExecution(runId);
  return run !== null && ['completed', 'failed', 'cancelled'].includes(run.status);
}

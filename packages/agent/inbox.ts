// Messages of users and of scheduled tasks: the queue of a workspace, and which run takes the next one. The state says
// which run is active; starting it is the workflow's, which starts a run of an id once.
import type { WorkflowBinding } from '@platform-run/types';
import { capHistory } from './history.ts';
import { conceal } from './secrets.ts';
import type { QueuedMessage, Workspace } from './workspace-types.ts';

/** What a run of the workflow is given. */
export interface RunInput {
  readonly userId: string;
  readonly chatId: string;
  readonly platform: string;
  /** To the messenger that came with the message (relay.ts). */
  readonly relay?: string;
}

export const TEXT_CHARS_MAX = 100_000;
export const QUEUE_MAX = 100;
/** With compression, which cuts long before. */
const COMPRESSED_MAX = 1000;

/** A new run's id. The runs that follow it for queued messages count on. */
export function newRunId(): string {
  return `${crypto.randomUUID()}-1`;
}

/** The run after a run: the same whenever it is asked for. */
export function nextRunId(runId: string): string {
  const [, stem = runId, count = '0'] = /^(.*)-(\d+)$/.exec(runId) ?? [];
  return `${stem}-${Number(count) + 1}`;
}

/** Ends the active run of a workspace and, where a message waits, makes `runId` the run that answers it. */
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

/** Takes a message in. @returns the run that is active then, and whether the message waits. */
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

/** Whether the message that came with this relay is being answered or queued. */
export function isWaitedFor(workspace: Workspace | null, relay: string): boolean {
  if (workspace === null) return false;
  if (workspace.queue.some((message) => message.relay === relay)) return true;
  return workspace.relay === relay && workspace.activeRunId !== null;
}

/** Starts the run of a workspace; a second time does nothing. */
export async function startRun(workflow: WorkflowBinding, workspace: Workspace): Promise<void> {
  const { activeRunId, userId, chatId, platform, relay } = workspace;
  if (activeRunId === null) return;
  const input: RunInput = { userId, chatId, platform, ...(relay !== undefined && { relay }) };
  await workflow.trigger(input, { id: activeRunId });
}

/** Whether the run can never free its workspace: it ended without having done so, as when an operator cancelled it. */
export async function isOver(workflow: WorkflowBinding, runId: string): Promise<boolean> {
  const run = await workflow.getExecution(runId);
  return run !== null && ['completed', 'failed', 'cancelled'].includes(run.status);
}

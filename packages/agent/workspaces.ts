// Workspaces in the state: every change is a compare-and-set, so that a concurrent run, message and command do not
// overwrite each other. Used by all code that changes a workspace.
import type { StateBinding } from '@platform-run/types';
import type { Workspace } from './workspace-types.ts';

/** The run no longer owns its workspace: it was reset or cancelled. The run ends without further changes. */
export class Superseded extends Error {
  override readonly name = 'NonRetryableError';

  constructor() {
    super('The run was reset or cancelled');
  }
}

/** Result of a change: the workspace to store (undefined: unchanged), and a value for the caller. */
type Change<Result> = (workspace: Workspace | null) => readonly [Workspace | undefined, Result];

const ATTEMPTS_MAX = 100;

/** Key of a user's workspace. @throws TypeError for an invalid user id. */
export function workspaceKey(userId: unknown): string {
  if (typeof userId !== 'string' || userId === '' || new TextEncoder().encode(userId).length > 256)
    throw new TypeError('userId must be a text of 1 to 256 bytes');
  return `agent:workspace:${userId}`;
}

/** The workspace of a user, or null. */
export async function readWorkspace(state: StateBinding, userId: string): Promise<Workspace | null> {
  return state.getJSON<Workspace>(workspaceKey(userId));
}

/** Changes a workspace; the function may be called again if others changed it in the meantime. */
export async function changeWorkspace<Result>(
  state: StateBinding,
  userId: string,
  change: Change<Result>,
): Promise<Result> {
  const key = workspaceKey(userId);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const { value, version } = await state.getWithMetadata(key);
    const [workspace, result] = change(value === null ? null : (JSON.parse(value) as Workspace));
    if (workspace === undefined) return result;
    if (await state.compareAndSet(key, value === null ? null : version, JSON.stringify(workspace))) return result;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(attempt * 5, 100)));
  }
  throw new Error(`The workspace of ${userId} is changed by others all the time`);
}

/** A new workspace. */
export function emptyWorkspace(userId: string, chatId: string, platform: string): Workspace {
  return {
    userId,
    chatId,
    platform,
    messages: [],
    conversationSummary: null,
    memory: {},
    mcpServers: [],
    debugMode: false,
    activeRunId: null,
    queue: [],
    scheduledTasks: [],
    approvals: [],
  };
}

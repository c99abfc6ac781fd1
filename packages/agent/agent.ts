// `createAgent`: the exports of a worker that is an agent. Turns messages and timers into runs of the workflow; run/
// executes them.
import type { ExecutionContext, TimerEvent, WorkflowContext } from '@platform-run/types';
import { createCommands } from './commands.ts';
import type { AgentConfig, AgentContext, AgentEnv, IncomingMessage, Messenger, RunHandle } from './config-types.ts';
import { isWaitedFor, newRunId, startRun, takeIn, TEXT_CHARS_MAX, type RunInput } from './inbox.ts';
import { closeRelay, openRelay, serveRelay } from './relay.ts';
import { freeLost, lookAfter, watch, watchedBy } from './lost-runs.ts';
import { createMcpEndpoint } from './mcp/serve/endpoint.ts';
import { hasMessenger, MCP_PLATFORM, whatToWrite } from './messengers.ts';
import { checkEnv, resolveAgent } from './resolved-agent.ts';
import type { RunResult } from './run/run-end.ts';
import { onRunLost, runAgent } from './run/run.ts';
import { masked } from './secrets.ts';
import { taskOf, type TaskPayload } from './tools/schedules.ts';
import type { QueuedMessage, Workspace } from './workspace-types.ts';
import { changeWorkspace, emptyWorkspace, readWorkspace, workspaceKey } from './workspaces.ts';

/** The exports of a worker that is an agent. */
export interface AgentWorker<Env extends AgentEnv = AgentEnv> {
  fetch(request: Request, env: Env, ctx?: ExecutionContext): Promise<Response>;
  timer(event: TimerEvent, env: Env): Promise<void>;
  readonly workflows: {
    readonly platform_agent_run: {
      handler(context: WorkflowContext<RunInput, Env>): Promise<RunResult>;
      onError(error: Error, context: WorkflowContext<RunInput, Env>): Promise<void>;
    };
  };
}

/** Decides whether to accept a message, in the same atomic change that stores the message. */
type Admission = (workspace: Workspace | null) => boolean;

/**
 * Creates an agent: `agentSDK: true` in platform.yaml gives its worker the bindings.
 *
 * @throws TypeError that names the problem in the configuration.
 * @example export default createAgent<PlatformEnv>({
 *   systemPrompt: 'You are a helpful assistant.',
 *   messengers: { chat: (env, chatId) => myMessenger(env, chatId) },
 *   async handle(request, env, agent) {
 *     const { userId, text } = await request.json();
 *     return Response.json(await agent.handleMessage({ userId, chatId: userId, platform: 'chat', text }));
 *   }, });
 */
export function createAgent<Env extends AgentEnv = AgentEnv>(config: AgentConfig<Env>): AgentWorker<Env> {
  const resolved = resolveAgent(config);
  const { health = { path: '/health' } } = config;
  const mcp = createMcpEndpoint(resolved);
  const healthPaths = health === false ? [] : [health.path, '/healthz'];

  /** Stores a message and starts the run that answers it; null if it is not accepted. */
  async function receive(
    env: Env,
    { userId, chatId, platform, text }: IncomingMessage,
    scheduled: boolean,
    { isAdmitted = () => true, relay }: { isAdmitted?: Admission; relay?: string | undefined } = {},
  ): Promise<RunHandle | null> {
    const state = env.PLATFORM_AGENT_STATE;
    const workflow = env.PLATFORM_AGENT_WORKFLOW;
    await Promise.all([freeLost(resolved, env, userId), watch(env, userId)]);
    const messageId = crypto.randomUUID();
    const timestamp = Date.now();
    const message: QueuedMessage = {
      text,
      timestamp,
      chatId,
      platform,
      id: messageId,
      ...(scheduled && { scheduled }),
      ...(relay !== undefined && { relay }),
    };
    const runId = newRunId();
    type Taken = { workspace: Workspace | null; handle: RunHandle | null };
    const { workspace, handle } = await changeWorkspace<Taken>(state, userId, (current) => {
      if (!isAdmitted(current)) return [undefined, { workspace: current, handle: null }];
      const taken = current ?? emptyWorkspace(userId, chatId, platform);
      const answered = takeIn(taken, message, runId, resolved.isCompressed);
      return [taken, { workspace: taken, handle: { ...answered, messageId } }];
    });
    // Also called for an active run, because the process that activated it may have died before starting it.
    if (workspace !== null) await startRun(workflow, workspace);
    return handle;
  }

  /** Accepts a message whose replies go through its own messenger: the invocation is kept open for them. */
  async function receiveWith(
    messenger: Messenger,
    env: Env,
    message: IncomingMessage,
    letGo: () => void,
  ): Promise<RunHandle> {
    let relay: string | undefined;
    try {
      relay = await openRelay(env, messenger);
      const handle = (await receive(env, message, false, { relay }))!;
      const id = relay;
      const waited = async (): Promise<boolean> =>
        isWaitedFor(await readWorkspace(env.PLATFORM_AGENT_STATE, message.userId), id);
      serveRelay(env, id, messenger, waited).then(letGo, (error: unknown) => {
        console.error('The messenger of a message can no longer be reached:', error);
        letGo();
      });
      return handle;
    } catch (error) {
      if (relay !== undefined) await closeRelay(env, relay).catch(() => {});
      letGo();
      throw error;
    }
  }

  function contextOf(env: Env, ctx: ExecutionContext | undefined): AgentContext<Env> {
    return {
      async handleMessage(message) {
        checkMessage(message);
        const { platform, messenger } = message;
        const letGo = messenger === undefined ? null : hold(ctx);
        if (letGo !== null) return receiveWith(messenger!, env, message, letGo);
        if (!hasMessenger(config, platform) && platform !== MCP_PLATFORM)
          throw new TypeError(
            messenger === undefined
              ? `No answer could reach the platform "${platform}": give handleMessage a messenger, or ${whatToWrite(platform)}`
              : `The messenger of handleMessage only works during a request: ${whatToWrite(platform)}`,
          );
        return (await receive(env, message, false))!;
      },
      commands: createCommands(resolved, env),
      async workspace(userId) {
        const found = await readWorkspace(env.PLATFORM_AGENT_STATE, userId);
        return found === null ? null : masked(found);
      },
      state: env.PLATFORM_AGENT_STATE,
      env,
    };
  }

  return {
    async fetch(request, env, ctx) {
      const { pathname } = new URL(request.url);
      if (healthPaths.includes(pathname) && ['GET', 'HEAD'].includes(request.method))
        return Response.json({ status: 'ok', agent: true, model: resolved.model, tools: resolved.tools.length });
      checkEnv(env);
      if (pathname === mcp?.path) return mcp.answer(request, env, contextOf(env, ctx));
      return config.handle(request, env, contextOf(env, ctx));
    },
    async timer(event, env) {
      checkEnv(env);
      const watched = watchedBy(event);
      if (watched !== null) return lookAfter(resolved, env, watched);
      const payload = event.payload as Partial<TaskPayload> | null;
      const { userId, chatId, platform, description } = payload ?? {};
      if ([userId, chatId, platform, description].some((value) => typeof value !== 'string')) {
        console.warn(`The timer ${event.id} is not a task of the agent; it is ignored`);
        return;
      }
      const message = { userId, chatId, platform, text: `[Scheduled task]: ${description}` } as IncomingMessage;
      const task = taskOf(event.id, message.userId);
      const handle = await receive(env, message, true, {
        isAdmitted: (workspace) => task === null || fires(workspace, task, event),
      });
      const isUntracked =
        handle === null &&
        task !== null &&
        !(await readWorkspace(env.PLATFORM_AGENT_STATE, message.userId))?.scheduledTasks.some(({ id }) => id === task);
      // The timer of a task that is not in the workspace, for example after a reset, is deleted.
      if (isUntracked) await env.PLATFORM_AGENT_SCHEDULER.delete(event.id);
    },
    workflows: {
      platform_agent_run: {
        handler: (context) => runAgent(resolved, context),
        onError: (error, context) => onRunLost(resolved, error, context),
      },
    },
  };
}

/**
 * Whether a task is due: the workspace tracks the task, and the task has not fired for this time yet. Records that the
 * task fired.
 */
function fires(workspace: Workspace | null, taskId: string, event: TimerEvent): boolean {
  const task = workspace?.scheduledTasks.find(({ id }) => id === taskId);
  if (workspace === null || task === undefined || workspace.fired?.[taskId] === event.scheduledTime) return false;
  if (task.recurring) {
    if (task.intervalMs !== undefined) task.scheduledTime = event.scheduledTime + task.intervalMs;
  } else workspace.scheduledTasks = workspace.scheduledTasks.filter(({ id }) => id !== taskId);
  const kept = Object.entries(workspace.fired ?? {}).filter(([id]) =>
    workspace.scheduledTasks.some((other) => other.id === id),
  );
  workspace.fired = { ...Object.fromEntries(kept), ...(task.recurring && { [taskId]: event.scheduledTime }) };
  return true;
}

/**
 * Keeps the invocation open. @returns the function that releases it; null without an invocation, or if it has ended.
 */
function hold(ctx: ExecutionContext | undefined): (() => void) | null {
  let letGo: () => void = () => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  // A worker that wraps an agent may not have passed its arguments to the agent.
  const waitUntil = (globalThis as Record<symbol, unknown>)[Symbol.for('platform.waitUntil')];
  try {
    if (ctx !== undefined) ctx.waitUntil(held);
    else if (typeof waitUntil === 'function') waitUntil(held);
    else return null;
  } catch {
    return null;
  }
  return letGo;
}

function checkMessage({ userId, chatId, platform, text, messenger }: IncomingMessage): void {
  workspaceKey(userId);
  for (const [name, value] of Object.entries({ chatId, platform, text }))
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a text that is not empty`);
  if (chatId.length > 256 || platform.length > 256)
    throw new TypeError('chatId and platform have at most 256 characters');
  if (messenger !== undefined)
    for (const name of ['sendMessage', 'sendDocument', 'sendTypingIndicator'] as const)
      if (typeof messenger?.[name] !== 'function') throw new TypeError(`messenger needs the function ${name}`);
  if (text.length > TEXT_CHARS_MAX) throw new RangeError(`text has at most ${TEXT_CHARS_MAX} characters`);
}

// The built-in tools for scheduled tasks: timers of the user, tracked in the workspace. A timer of an untracked task
// has no effect (events of agent.ts), so that a crash between the two steps leaves no invisible task.
import type { Timer } from '@platform-run/types';
import type { ScheduledTask } from '../workspace-types.ts';
import { builtIn, toolError, type InnerContext, type ReadyTool } from './tool.ts';

/** Payload of the timers that the agent library sets. */
export interface TaskPayload {
  userId: string;
  chatId: string;
  platform: string;
  description: string;
}

const TASKS_MAX = 100;
const INTERVAL_SECONDS_LEAST = 60;

const when = {
  runAt: { type: 'string', description: 'First time, ISO 8601 with a time zone' },
  delaySeconds: { type: 'number', minimum: 0, description: 'Instead of runAt: seconds from now' },
  recurring: { type: 'boolean' },
  intervalSeconds: { type: 'number', minimum: INTERVAL_SECONDS_LEAST, description: 'Only for a recurring task' },
  cron: { type: 'string', description: 'Instead of intervalSeconds: five or six fields' },
  timezone: { type: 'string', description: 'IANA time zone of cron' },
} as const;

interface When {
  runAt?: string;
  delaySeconds?: number;
  recurring?: boolean;
  intervalSeconds?: number;
  cron?: string;
  timezone?: string;
}

/** Timer id of a task. The user's id is encoded, so that no user's prefix is a prefix of another's. */
function timerId(userId: string, taskId: string): string {
  return `${timerPrefix(userId)}${taskId}`;
}

/** Prefix of a user's timer ids. */
export function timerPrefix(userId: string): string {
  return `agent:${JSON.stringify(userId)}:`;
}

/** The task of a timer id; null if the library did not set it. */
export function taskOf(id: string, userId: string): string | null {
  const prefix = timerPrefix(userId);
  return id.startsWith(prefix) ? id.slice(prefix.length) : null;
}

/** `schedule_task` and the tools for scheduled tasks. */
export const scheduleTools: readonly ReadyTool[] = [
  builtIn({
    name: 'schedule_task',
    description:
      'Schedules a task for later: at its time the description comes back to you as a message. Say when with runAt or delaySeconds; recurring tasks also with intervalSeconds or cron.',
    parameters: {
      type: 'object',
      properties: { description: { type: 'string', minLength: 1, maxLength: 4000 }, ...when },
      required: ['description'],
    },
    async execute({ description, ...given }, ctx) {
      const task: ScheduledTask = { id: await taskId(ctx.idempotencyKey), description, ...timing(given, null) };
      await ctx.change((workspace) => {
        const others = workspace.scheduledTasks.filter(({ id }) => id !== task.id);
        if (others.length >= TASKS_MAX) throw toolError(`There are ${TASKS_MAX} tasks already; delete one first`);
        workspace.scheduledTasks = [...others, task];
      });
      try {
        await setTimer(task, ctx);
      } catch (error) {
        await forget(task.id, ctx);
        throw error;
      }
      return told(await withNextRun(task, ctx));
    },
    hook: (_args, result) => {
      const { taskId: _id, nextRun: _next, ...task } = JSON.parse(result) as Told;
      return ['onTaskScheduled', task];
    },
  }),
  builtIn({
    name: 'list_scheduled_tasks',
    description: 'The scheduled tasks of the user.',
    parameters: { type: 'object', properties: {} },
    async execute(_args, ctx) {
      const { scheduledTasks } = await ctx.read();
      // The workspace contains when a task with a cron expression last fired, but not when it fires next.
      const tasks = scheduledTasks.map((task) =>
        task.cron !== undefined && task.scheduledTime <= Date.now() ? readTask(task.id, ctx) : task,
      );
      return JSON.stringify((await Promise.all(tasks)).filter((task) => task !== null).map(toTold));
    },
  }),
  builtIn({
    name: 'get_scheduled_task',
    description: 'A scheduled task, with the time of its next run.',
    parameters: { type: 'object', properties: { taskId: { type: 'string' } }, required: ['taskId'] },
    async execute({ taskId: id }, ctx) {
      const task = await readTask(id, ctx);
      return task === null ? notFound(id) : told(task);
    },
  }),
  builtIn({
    name: 'update_scheduled_task',
    description: 'Changes description, time or recurrence of a scheduled task.',
    parameters: {
      type: 'object',
      properties: {
        taskId: { type: 'string' },
        description: { type: 'string', minLength: 1, maxLength: 4000 },
        ...when,
      },
      required: ['taskId'],
    },
    async execute({ taskId: id, description, ...given }, ctx) {
      const before = await readTask(id, ctx);
      if (before === null) return notFound(id);
      const task: ScheduledTask = {
        id,
        description: description ?? before.description,
        ...timing(given, before),
      };
      await ctx.change((workspace) => {
        workspace.scheduledTasks = [...workspace.scheduledTasks.filter((other) => other.id !== id), task];
      });
      await setTimer(task, ctx);
      return told(await withNextRun(task, ctx));
    },
  }),
  builtIn({
    name: 'delete_scheduled_task',
    description: 'Cancels a scheduled task.',
    parameters: { type: 'object', properties: { taskId: { type: 'string' } }, required: ['taskId'] },
    async execute({ taskId: id }, ctx) {
      const wasThere = await forget(id, ctx);
      await ctx.env.PLATFORM_AGENT_SCHEDULER.delete(timerId(ctx.userId, id));
      return wasThere ? `Deleted task "${id}".` : notFound(id);
    },
  }),
];

/** A task for the model: with the tools' name for its id, and a readable time. */
interface Told extends ScheduledTask {
  taskId: string;
  nextRun: string;
}

function toTold(task: ScheduledTask): Told {
  return { ...task, taskId: task.id, nextRun: new Date(task.scheduledTime).toISOString() };
}

function told(task: ScheduledTask): string {
  return JSON.stringify(toTold(task));
}

/** A task with the data of its timer, or null. */
async function readTask(id: string, { env, userId }: InnerContext): Promise<ScheduledTask | null> {
  const timer = await env.PLATFORM_AGENT_SCHEDULER.get(timerId(userId, id));
  return timer === null ? null : fromTimer(id, timer as Timer<TaskPayload>);
}

/** The scheduler computes the next time of a cron expression, and the workspace reads this time from the timer. */
async function withNextRun(task: ScheduledTask, ctx: InnerContext): Promise<ScheduledTask> {
  if (task.cron === undefined) return task;
  const set = await readTask(task.id, ctx);
  if (set === null) return task;
  await ctx.change((workspace) => {
    const tracked = workspace.scheduledTasks.find(({ id }) => id === task.id);
    if (tracked !== undefined) tracked.scheduledTime = set.scheduledTime;
  });
  return { ...task, scheduledTime: set.scheduledTime };
}

/** Creates the id of a task, which is the same for each repetition of a call. */
async function taskId(key: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key)));
  return `task_${[...digest.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function forget(id: string, ctx: InnerContext): Promise<boolean> {
  return ctx.change((workspace) => {
    const { length } = workspace.scheduledTasks;
    workspace.scheduledTasks = workspace.scheduledTasks.filter((task) => task.id !== id);
    return workspace.scheduledTasks.length < length;
  });
}

/** Timing of a task, from the model's arguments and, for a changed task, its previous timing. */
function timing(given: When, before: ScheduledTask | null): Omit<ScheduledTask, 'id' | 'description'> {
  const { runAt, delaySeconds, intervalSeconds, cron, timezone } = given;
  if (runAt !== undefined && delaySeconds !== undefined) throw toolError('Give runAt or delaySeconds, not both');
  if (intervalSeconds !== undefined && cron !== undefined) throw toolError('Give intervalSeconds or cron, not both');
  const recurring =
    given.recurring ?? (intervalSeconds !== undefined || cron !== undefined || before?.recurring === true);
  const intervalMs = intervalSeconds === undefined ? before?.intervalMs : Math.round(intervalSeconds * 1000);
  const expression = cron ?? (intervalSeconds === undefined ? before?.cron : undefined);
  if (recurring && intervalMs === undefined && expression === undefined)
    throw toolError('A recurring task needs intervalSeconds or cron');
  let scheduledTime = before?.scheduledTime;
  if (runAt !== undefined) scheduledTime = Date.parse(runAt);
  else if (delaySeconds !== undefined) scheduledTime = Date.now() + Math.round(delaySeconds * 1000);
  else if (before === null && recurring) scheduledTime = Date.now() + (expression === undefined ? intervalMs! : 0);
  if (scheduledTime === undefined) throw toolError('runAt or delaySeconds is required');
  if (Number.isNaN(scheduledTime)) throw toolError('runAt must be an ISO 8601 date and time');
  if (runAt !== undefined && scheduledTime < Date.now()) throw toolError('runAt is in the past');
  if (!recurring) return { scheduledTime, recurring };
  const zone = timezone ?? before?.timezone;
  return expression === undefined
    ? { scheduledTime, recurring, intervalMs: intervalMs! }
    : { scheduledTime, recurring, cron: expression, ...(zone !== undefined && { timezone: zone }) };
}

async function setTimer(
  { id, description, scheduledTime, intervalMs, cron, timezone }: ScheduledTask,
  { env, userId, chatId, platform }: InnerContext,
): Promise<void> {
  const payload: TaskPayload = { userId, chatId, platform, description };
  try {
    await env.PLATFORM_AGENT_SCHEDULER.set(timerId(userId, id), scheduledTime, {
      payload,
      ...(intervalMs !== undefined && { intervalMs }),
      ...(cron !== undefined && { cron }),
      ...(timezone !== undefined && { timezone }),
    });
  } catch (error) {
    // The model's schedule is invalid.
    if ((error as { code?: unknown }).code === 'invalid_argument') throw toolError((error as Error).message);
    throw error;
  }
}

function fromTimer(id: string, timer: Timer<TaskPayload>): ScheduledTask {
  const { scheduledTime, intervalMs, cron, timezone, payload } = timer;
  return {
    id,
    description: payload.description,
    scheduledTime,
    recurring: intervalMs !== null || cron !== undefined,
    ...(intervalMs !== null && { intervalMs }),
    ...(cron !== undefined && { cron }),
    ...(timezone !== undefined && { timezone }),
  };
}

function notFound(id: string): string {
  return `Task "${id}" not found.`;
}

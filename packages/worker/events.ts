// `message`, `timer`, `scheduled` and `workflows` of a built app: finds the handler by the binding's name, validates
// the payload, passes `state`. If a handler throws, the platform retries.
import type { Link } from './chain.ts';
import type { QueueMessageLike, ScheduledEventLike, TimerEventLike, WorkflowContextLike } from './event-types.ts';
import { invalidEvent } from './failure.ts';
import { keepAlive, variablesOf } from './request-context.ts';
import type { ExecutionLike } from './route-types.ts';
import type { Checked, Checker } from './schema.ts';

/** A handler of events besides requests. */
export interface EventHandler {
  readonly kind: 'queue' | 'workflow' | 'timer' | 'cron';
  readonly name: string;
  /** Payload of a message or timer, input of a workflow. */
  readonly input: Checker | null;
  readonly output: Checker | null;
  readonly onError: ((error: Error, ctx: never) => unknown) | null;
  readonly handler: (ctx: never) => unknown;
  readonly links: readonly Link[];
}

/** The exports of a worker other than `fetch`; only those with a handler. */
export function createEventExports(handlers: readonly EventHandler[]): Record<string, unknown> {
  const of = (kind: EventHandler['kind']): ReadonlyMap<string, EventHandler> =>
    named(handlers.filter((handler) => handler.kind === kind));
  const [queues, workflows, timers, crons] = [of('queue'), of('workflow'), of('timer'), of('cron')];
  return {
    ...(queues.size > 0 && {
      message: (event: QueueMessageLike, env: unknown, ctx?: ExecutionLike) => onMessage(queues, event, env, ctx),
    }),
    ...(timers.size > 0 && {
      timer: (event: TimerEventLike, env: unknown, ctx?: ExecutionLike) => onTimer(timers, event, env, ctx),
    }),
    ...(crons.size > 0 && {
      scheduled: (event: ScheduledEventLike, env: unknown, ctx?: ExecutionLike) => onSchedule(crons, event, env, ctx),
    }),
    ...(workflows.size > 0 && {
      workflows: Object.fromEntries([...workflows].map(([name, handler]) => [name, workflowExport(handler)])),
    }),
  };
}

function named(handlers: readonly EventHandler[]): ReadonlyMap<string, EventHandler> {
  const map = new Map<string, EventHandler>();
  for (const handler of handlers) {
    if (map.has(handler.name)) throw new TypeError(`There are two handlers of the ${handler.kind} ${handler.name}`);
    map.set(handler.name, handler);
  }
  return map;
}

async function onMessage(
  queues: ReadonlyMap<string, EventHandler>,
  event: QueueMessageLike,
  env: unknown,
  execution?: ExecutionLike,
): Promise<void> {
  const found = pick(queues, event.binding, event.queueName);
  if (found === undefined)
    throw new Error(`No handler for the queue ${event.binding ?? event.queueName}; there are: ${list(queues)}`);
  const payload = await read(found.input, event.payload, `A message of the queue ${event.queueName}`);
  await found.handler({
    ...(await baseOf(found, env, execution)),
    payload,
    message: event,
    id: event.id,
    queueName: event.queueName,
    attempt: event.attempt,
    ack: () => event.ack(),
    retry: (options?: { delaySeconds?: number }) => event.retry(options),
  } as never);
}

async function onTimer(
  timers: ReadonlyMap<string, EventHandler>,
  event: TimerEventLike,
  env: unknown,
  execution?: ExecutionLike,
): Promise<void> {
  const found = pick(timers, event.binding);
  if (found === undefined)
    throw new Error(`No handler for the timer ${event.binding ?? event.id}; there are: ${list(timers)}`);
  const payload = await read(found.input, event.payload, `The payload of the timer ${event.id}`);
  await found.handler({
    ...(await baseOf(found, env, execution)),
    payload,
    id: event.id,
    scheduledTime: event.scheduledTime,
    event,
  } as never);
}

async function onSchedule(
  crons: ReadonlyMap<string, EventHandler>,
  event: ScheduledEventLike,
  env: unknown,
  execution?: ExecutionLike,
): Promise<void> {
  const found = pick(crons, event.name, event.cron) ?? crons.get('*');
  if (found === undefined)
    throw new Error(`No handler for the schedule ${event.name ?? event.cron}; there are: ${list(crons)}`);
  const { cron, scheduledTime } = event;
  await found.handler({
    ...(await baseOf(found, env, execution)),
    cron,
    scheduledTime,
    noRetry: () => event.noRetry(),
    event,
  } as never);
}

/**
 * Key of a handler: the binding's name if known, else the resource's name. If neither is known, there must be only one
 * handler.
 */
function pick(
  handlers: ReadonlyMap<string, EventHandler>,
  ...names: readonly (string | undefined)[]
): EventHandler | undefined {
  for (const name of names) {
    const found = name === undefined ? undefined : handlers.get(name);
    if (found !== undefined) return found;
  }
  const only = names[0] === undefined && handlers.size === 1 ? [...handlers.values()][0]! : undefined;
  return only?.kind === 'cron' ? undefined : only;
}

function list(handlers: ReadonlyMap<string, EventHandler>): string {
  return [...handlers.keys()].join(', ');
}

function workflowExport(found: EventHandler): object {
  const contextOf = async (context: WorkflowContextLike<unknown>, input: unknown): Promise<never> => {
    const { step, executionId, env } = context;
    const log = (message: string, data?: unknown): void => context.log(message, data);
    return { ...(await baseOf(found, env, undefined)), input, step, log, executionId } as never;
  };
  const handler = async (context: WorkflowContextLike<unknown>): Promise<unknown> => {
    const input = await read(found.input, context.input, `The input of the workflow ${found.name}`);
    const output = await found.handler(await contextOf(context, input));
    if (found.output === null) return output;
    const checked: Checked = await found.output.checkAnswer(output);
    if (checked.issues !== undefined) throw invalidEvent(`The output of the workflow ${found.name}`, checked.issues);
    return checked.value;
  };
  const { onError } = found;
  if (onError === null) return { handler };
  return {
    handler,
    onError: async (error: Error, context: WorkflowContextLike<unknown>) =>
      void (await onError(error, await contextOf(context, context.input))),
  };
}

async function read(checker: Checker | null, value: unknown, what: string): Promise<unknown> {
  if (checker === null) return value;
  const checked: Checked = await checker.check(value);
  if (checked.issues !== undefined) throw invalidEvent(what, checked.issues);
  return checked.value;
}

async function baseOf({ links }: EventHandler, env: unknown, execution: ExecutionLike | undefined): Promise<object> {
  const state: Record<string, unknown> = {};
  const base = {
    env,
    vars: variablesOf(env),
    state,
    waitUntil: (promise: Promise<unknown>) => keepAlive(execution, promise),
  };
  for (const link of links) if (link.kind === 'state') Object.assign(state, await link.make(base));
  return base;
}

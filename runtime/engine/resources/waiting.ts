// Management operations on messages, dead letters, workflow runs, timers and schedules.
import { fixedLimits } from '#core/limits.ts';
import { deadLettersOf } from '#core/queue-settings.ts';
import { shownValue } from '#core/structured-values.ts';
import type { WorkflowRun, WorkflowStep } from '#core/resource-call/workflows.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import { invalid, toName, toWhole } from '../bindings/arguments.ts';
import type { QueuePlace } from '../bindings/queue.ts';
import type { StoredRun, StoredStep } from '../bindings/workflow.ts';
import {
  apartNamespace,
  placeOf,
  bindingOf,
  call,
  fromJson,
  opened,
  type RequestScope,
  type OperationsOf,
} from './request-scope.ts';

const PAGE_MAX = 200;
/** A stored value, formatted for people. */
const shown = (text: string): unknown => shownValue(fromJson(text));
const { runIdBytesMax, timerIdBytesMax } = fixedLimits.events;

type Events = NonNullable<BindingStores['events']>;

export const queueOperations: OperationsOf<'queue'> = {
  async 'queue.stats'(scope) {
    return events(scope, 'queue').queue.metrics(queue(scope), Date.now());
  },
  async 'queue.list'(scope) {
    const { messages, next } = await events(scope, 'queue').queue.list(queueOrDead(scope), {
      limit: toWhole(scope.args['limit'], 'limit', { least: 1, most: PAGE_MAX, otherwise: 50 }),
      after: toWhole(scope.args['after'], 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
    });
    return { messages: messages.map(({ payload, ...rest }) => ({ ...rest, payload: shown(payload) })), next };
  },
  async 'queue.send'(scope) {
    const { payload, delaySeconds, dedupeId, orderingKey } = scope.args;
    if (payload === undefined) throw invalid('A message must have a payload');
    const messages = [{ delaySeconds, dedupeId, orderingKey }];
    const { value } = await call(scope, 'queue.send', { messages }, [JSON.stringify(payload)]);
    return { messageId: (value as { messageIds: string[] }).messageIds[0]! };
  },
  async 'queue.remove'(scope) {
    const id = toName(scope.args['id'], 'id', 256);
    return { removed: await events(scope, 'queue').queue.remove(queueOrDead(scope), id) };
  },
  async 'queue.redrive'(scope) {
    const { id } = scope.args;
    const one = id === undefined ? null : toName(id, 'id', 256);
    return { count: await events(scope, 'queue').queue.redrive(queue(scope), Date.now(), one) };
  },
  async 'queue.purge'(scope) {
    return { count: await events(scope, 'queue').queue.purge(queueOrDead(scope)) };
  },
};

export const workflowOperations: OperationsOf<'workflow'> = {
  async 'workflow.list'(scope) {
    const { cursor, limit, status } = scope.args;
    // The list method of the binding is not used, because it includes the values of all runs, which may be large.
    const place = placeOf(scope, 'workflow');
    if (status !== undefined && !STATUSES.includes(status as string))
      throw invalid(`status must be one of ${STATUSES.join(', ')}`);
    if (cursor !== undefined && !/^\d{1,15}$/.test(String(cursor))) throw invalid('The cursor is not valid');
    const { runs, next } = await events(scope, 'workflow').workflow.list(place, {
      status: (status ?? null) as StoredRun['status'] | null,
      limit: toWhole(limit, 'limit', { least: 1, most: PAGE_MAX, otherwise: 50 }),
      before: cursor === undefined ? null : Number(cursor),
    });
    return { runs: runs.map(toRun), cursor: next === null ? null : String(next) };
  },
  async 'workflow.get'(scope) {
    const { workflow } = events(scope, 'workflow');
    const place = placeOf(scope, 'workflow');
    const id = toName(scope.args['id'], 'id', runIdBytesMax);
    const [found, history] = await Promise.all([workflow.get(place, id), workflow.history(place, id)]);
    if (found === null || history === null) return { run: null };
    return {
      run: {
        ...toRun(found),
        input: shown(found.input),
        output: found.output === null ? null : shown(found.output),
        steps: history.steps.map(toStep),
        log: history.log.map(({ content, ...line }) => ({
          ...line,
          content: content === null ? null : fromJson(content),
        })),
      },
    };
  },
  async 'workflow.start'(scope) {
    const { input, id } = scope.args;
    const { value } = await call(scope, 'workflow.trigger', { input, id });
    return { id: (value as { executionId: string }).executionId };
  },
  'workflow.cancel': (scope) => steer(scope, 'cancel'),
  'workflow.pause': (scope) => steer(scope, 'pause'),
  'workflow.resume': (scope) => steer(scope, 'resume'),
  'workflow.restart': (scope) => steer(scope, 'restart', { fromStep: scope.args['fromStep'] }),
  'workflow.event': (scope) => steer(scope, 'sendEvent', { type: scope.args['type'], payload: scope.args['payload'] }),
};

export const timerOperations: OperationsOf<'timer'> = {
  async 'timer.list'(scope) {
    const { prefix, cursor, limit } = scope.args;
    const { value } = await call(scope, 'timer.list', { prefix, cursor, limit: limit ?? 100 });
    const { timers, cursor: next } = value as {
      timers: {
        id: string;
        scheduledTime: number;
        payload: unknown;
        intervalMs: number | null;
        cron?: string;
        timezone?: string;
      }[];
      cursor: string | null;
    };
    return {
      timers: timers.map(({ cron = null, timezone = null, ...timer }) => ({ ...timer, cron, timezone })),
      cursor: next,
    };
  },
  async 'timer.set'(scope) {
    const { id, at, afterMs, payload, intervalMs, cron, timezone } = scope.args;
    await call(scope, 'timer.set', { id, at, afterMs, payload, intervalMs, cron, timezone });
    return {};
  },
  async 'timer.run'(scope) {
    const { timer } = events(scope, 'timer');
    const place = placeOf(scope, 'timer');
    const found = await timer.get(place, toName(scope.args['id'], 'id', timerIdBytesMax));
    if (found === null) return { found: false };
    const { project, branch } = scope.route;
    const now = Date.now();
    const sender = { project, branch, binding: bindingOf(scope, 'timer').name };
    // Sets the time to now and keeps all other fields; a repeating timer continues from now.
    await timer.set(place, sender, { ...found, dueAt: now }, now);
    return { found: true };
  },
  async 'timer.delete'(scope) {
    await call(scope, 'timer.delete', { id: scope.args['id'] });
    return {};
  },
};

export const scheduleOperations: OperationsOf<'cron'> = {
  async 'cron.list'(scope) {
    const { cron } = scope.deps;
    if (cron === null || scope.route.preview !== null) return { schedules: [] };
    return { schedules: await cron.list(schedules(scope)) };
  },
  async 'cron.run'(scope) {
    const name = toName(scope.args['name'], 'name', 256);
    const { cron } = scope.deps;
    if (cron === null || scope.route.preview !== null) return { triggered: null };
    const known = (await cron.list(schedules(scope))).some((schedule) => schedule.name === name);
    return { triggered: known ? await cron.trigger(schedules(scope), name, Date.now()) : null };
  },
};

const STATUSES = ['pending', 'running', 'paused', 'completed', 'failed', 'cancelled'];

function events(scope: RequestScope, kind: 'queue' | 'workflow' | 'timer'): Events {
  return opened(scope.deps.stores.events, kind);
}

/** The schedules of the project, as the broker declares them, independent of the deployment. */
function schedules(scope: RequestScope): QueuePlace {
  return { namespace: apartNamespace(scope), resource: scope.route.project };
}

/** Dead letters of a queue go to the queue that platform.yaml names; a dead-letter queue has no dead-letter queue. */
function queue(scope: RequestScope): QueuePlace & { deadLetter: string | null } {
  const place = placeOf(scope, 'queue');
  return { ...place, deadLetter: deadLettersOf(scope.artifact.manifest.queues ?? {}, place.resource) };
}

function queueOrDead(scope: RequestScope): QueuePlace {
  const place = queue(scope);
  return scope.args['dead'] === true ? { ...place, resource: place.deadLetter ?? `${place.resource}_dlq` } : place;
}

async function steer(
  scope: RequestScope,
  verb: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Record<never, never>> {
  await call(scope, `workflow.${verb}`, { id: scope.args['id'], ...more });
  return {};
}

function toRun({ id, status, error, deployment, createdAt, startedAt, completedAt }: StoredRun): WorkflowRun {
  return { id, status, error: toError(error), deployment, createdAt, startedAt, completedAt };
}

function toStep({ result, error, ...step }: StoredStep): WorkflowStep {
  return { ...step, result: result === null ? null : shown(result), error: toError(error) };
}

function toError(text: string | null): WorkflowRun['error'] {
  return text === null ? null : (fromJson(text) as WorkflowRun['error']);
}

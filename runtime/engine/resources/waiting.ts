// Management operations on messages, dead letters, workflow runs, timers and schedules.
import { fixedLimits } from '#core/limits.ts';
import { deadLettersOf } from '#core/queue-settings.ts';
import { shownValue } from '#core/structured-values.ts';
import type { WorkflowRun, WorkflowStep } from '#core/resource-call/workflows.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import { invalid, toName, toWhole } from '../bindings/arguments.ts';
import type { QueuePlace } from '../bindings/queue.ts';
import type { StoredRun, StoredStep } from '../bindings/workflow.ts';
import { apartNamespace, placeOf, bindingOf, call, fromJson, opened, type Asked, type OperationsOf } from './asked.ts';

const PAGE_MAX = 200;
/** A stored value, formatted for people. */
const shown = (text: string): unknown => shownValue(fromJson(text));
const { runIdBytesMax, timerIdBytesMax } = fixedLimits.events;

type Events = NonNullable<BindingStores['events']>;

export const queueOperations: OperationsOf<'queue'> = {
  async 'queue.stats'(asked) {
    return events(asked, 'queue').queue.metrics(queue(asked), Date.now());
  },
  async 'queue.list'(asked) {
    const { messages, next } = await events(asked, 'queue').queue.list(queueOrDead(asked), {
      limit: toWhole(asked.args['limit'], 'limit', { least: 1, most: PAGE_MAX, otherwise: 50 }),
      after: toWhole(asked.args['after'], 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
    });
    return { messages: messages.map(({ payload, ...rest }) => ({ ...rest, payload: shown(payload) })), next };
  },
  async 'queue.send'(asked) {
    const { payload, delaySeconds, dedupeId, orderingKey } = asked.args;
    if (payload === undefined) throw invalid('A message must have a payload');
    const messages = [{ delaySeconds, dedupeId, orderingKey }];
    const { value } = await call(asked, 'queue.send', { messages }, [JSON.stringify(payload)]);
    return { messageId: (value as { messageIds: string[] }).messageIds[0]! };
  },
  async 'queue.remove'(asked) {
    const id = toName(asked.args['id'], 'id', 256);
    return { removed: await events(asked, 'queue').queue.remove(queueOrDead(asked), id) };
  },
  async 'queue.redrive'(asked) {
    const { id } = asked.args;
    const one = id === undefined ? null : toName(id, 'id', 256);
    return { count: await events(asked, 'queue').queue.redrive(queue(asked), Date.now(), one) };
  },
  async 'queue.purge'(asked) {
    return { count: await events(asked, 'queue').queue.purge(queueOrDead(asked)) };
  },
};

export const workflowOperations: OperationsOf<'workflow'> = {
  async 'workflow.list'(asked) {
    const { cursor, limit, status } = asked.args;
    // The binding's own list includes the values of all its runs, which may be large.
    const place = placeOf(asked, 'workflow');
    if (status !== undefined && !STATUSES.includes(status as string))
      throw invalid(`status must be one of ${STATUSES.join(', ')}`);
    if (cursor !== undefined && !/^\d{1,15}$/.test(String(cursor))) throw invalid('The cursor is not valid');
    const { runs, next } = await events(asked, 'workflow').workflow.list(place, {
      status: (status ?? null) as StoredRun['status'] | null,
      limit: toWhole(limit, 'limit', { least: 1, most: PAGE_MAX, otherwise: 50 }),
      before: cursor === undefined ? null : Number(cursor),
    });
    return { runs: runs.map(toRun), cursor: next === null ? null : String(next) };
  },
  async 'workflow.get'(asked) {
    const { workflow } = events(asked, 'workflow');
    const place = placeOf(asked, 'workflow');
    const id = toName(asked.args['id'], 'id', runIdBytesMax);
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
  async 'workflow.start'(asked) {
    const { input, id } = asked.args;
    const { value } = await call(asked, 'workflow.trigger', { input, id });
    return { id: (value as { executionId: string }).executionId };
  },
  'workflow.cancel': (asked) => steer(asked, 'cancel'),
  'workflow.pause': (asked) => steer(asked, 'pause'),
  'workflow.resume': (asked) => steer(asked, 'resume'),
  'workflow.restart': (asked) => steer(asked, 'restart', { fromStep: asked.args['fromStep'] }),
  'workflow.event': (asked) => steer(asked, 'sendEvent', { type: asked.args['type'], payload: asked.args['payload'] }),
};

export const timerOperations: OperationsOf<'timer'> = {
  async 'timer.list'(asked) {
    const { prefix, cursor, limit } = asked.args;
    const { value } = await call(asked, 'timer.list', { prefix, cursor, limit: limit ?? 100 });
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
  async 'timer.set'(asked) {
    const { id, at, afterMs, payload, intervalMs, cron, timezone } = asked.args;
    await call(asked, 'timer.set', { id, at, afterMs, payload, intervalMs, cron, timezone });
    return {};
  },
  async 'timer.run'(asked) {
    const { timer } = events(asked, 'timer');
    const place = placeOf(asked, 'timer');
    const found = await timer.get(place, toName(asked.args['id'], 'id', timerIdBytesMax));
    if (found === null) return { found: false };
    const { project, branch } = asked.route;
    const now = Date.now();
    const sender = { project, branch, binding: bindingOf(asked, 'timer').name };
    // Set to now with all its fields: a repeating one continues from here.
    await timer.set(place, sender, { ...found, dueAt: now }, now);
    return { found: true };
  },
  async 'timer.delete'(asked) {
    await call(asked, 'timer.delete', { id: asked.args['id'] });
    return {};
  },
};

export const scheduleOperations: OperationsOf<'cron'> = {
  async 'cron.list'(asked) {
    const { cron } = asked.deps;
    if (cron === null || asked.route.preview !== null) return { schedules: [] };
    return { schedules: await cron.list(schedules(asked)) };
  },
  async 'cron.run'(asked) {
    const name = toName(asked.args['name'], 'name', 256);
    const { cron } = asked.deps;
    if (cron === null || asked.route.preview !== null) return { triggered: null };
    const known = (await cron.list(schedules(asked))).some((schedule) => schedule.name === name);
    return { triggered: known ? await cron.trigger(schedules(asked), name, Date.now()) : null };
  },
};

const STATUSES = ['pending', 'running', 'paused', 'completed', 'failed', 'cancelled'];

function events(asked: Asked, kind: 'queue' | 'workflow' | 'timer'): Events {
  return opened(asked.deps.stores.events, kind);
}

/** Schedules of the project, whichever of its deployments is used: as the broker declares them. */
function schedules(asked: Asked): QueuePlace {
  return { namespace: apartNamespace(asked), resource: asked.route.project };
}

/** Its dead letters go where platform.yaml says; a dead letter queue has none of its own. */
function queue(asked: Asked): QueuePlace & { deadLetter: string | null } {
  const place = placeOf(asked, 'queue');
  return { ...place, deadLetter: deadLettersOf(asked.artifact.manifest.queues ?? {}, place.resource) };
}

function queueOrDead(asked: Asked): QueuePlace {
  const place = queue(asked);
  return asked.args['dead'] === true ? { ...place, resource: place.deadLetter ?? `${place.resource}_dlq` } : place;
}

async function steer(
  asked: Asked,
  verb: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Record<never, never>> {
  await call(asked, `workflow.${verb}`, { id: asked.args['id'], ...more });
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

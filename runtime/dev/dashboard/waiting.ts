// What waits for a moment: messages and dead letters, timers, schedules, runs of workflows.
import { deadLettersOf } from '#core/queue-settings.ts';
import { invalid } from '../../engine/bindings/arguments.ts';
import type { RunHistory, StoredRun } from '../../engine/bindings/workflow.ts';
import type { QueuePlace } from '../../engine/bindings/queue.ts';
import { callBinding, countOf, deploymentOf, notFound, placeOf, type Asked, type Route } from './api.ts';

const PAGE_MAX = 200;
const TIMERS_COUNTED = 1000;

/** The queue `:b`, or with `?dead=true` the one that its dead letters go to. */
function queueOf(asked: Asked): QueuePlace {
  const place = placed(asked);
  // One of dead letters has none of its own: a queue that nothing goes to.
  return asked.query.get('dead') === 'true'
    ? { ...place, resource: place.deadLetter ?? `${place.resource}_dlq` }
    : place;
}

function placed(asked: Asked): QueuePlace & { deadLetter: string | null } {
  const place = placeOf(asked, 'queue');
  return { ...place, deadLetter: deadLettersOf(deploymentOf(asked).manifest.queues ?? {}, place.resource) };
}

const queueRoutes: readonly Route[] = [
  ['GET', '/api/queue/:b/metrics', (asked) => asked.parts.events.queue.metrics(placed(asked), Date.now())],
  [
    'GET',
    '/api/queue/:b/messages',
    async (asked) => {
      const limit = countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 50 });
      const after = countOf(asked.query, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 });
      const { messages, next } = await asked.parts.events.queue.list(queueOf(asked), { limit, after });
      return { messages: messages.map(({ payload, ...rest }) => ({ ...rest, payload: fromJson(payload) })), next };
    },
  ],
  [
    'POST',
    '/api/queue/:b/messages',
    async (asked) => {
      const { payload, delaySeconds, dedupeId, orderingKey } = await asked.body();
      if (payload === undefined) throw invalid('A message must have a payload');
      const messages = [{ delaySeconds, dedupeId, orderingKey }];
      const sent = await callBinding(asked, 'queue.send', { messages }, [JSON.stringify(payload)]);
      return { messageId: (sent as { messageIds: string[] }).messageIds[0] };
    },
  ],
  [
    'DELETE',
    '/api/queue/:b/messages/:id',
    async (asked) => {
      const removed = await asked.parts.events.queue.remove(queueOf(asked), asked.params['id'] as string);
      if (!removed)
        throw notFound('The queue has no such message that could be deleted: it is gone, or being delivered');
    },
  ],
  [
    'POST',
    '/api/queue/:b/redrive',
    async (asked) => ({ count: await asked.parts.events.queue.redrive(placed(asked), Date.now()) }),
  ],
  ['POST', '/api/queue/:b/purge', async (asked) => ({ count: await asked.parts.events.queue.purge(queueOf(asked)) })],
];

/** Events of a kind that ended since dev was started, the newest first. */
function ended(asked: Asked, kind: string, name: string): unknown[] {
  const found = asked.parts.activity
    .since(0)
    .filter((noted) => noted.type === 'event' && noted.kind === kind && noted.name === name);
  return found.toReversed().slice(0, PAGE_MAX);
}

const timerRoutes: readonly Route[] = [
  [
    'GET',
    '/api/timer/:b/entries',
    (asked) =>
      callBinding(asked, 'timer.list', {
        prefix: asked.query.get('prefix') ?? undefined,
        cursor: asked.query.get('cursor') ?? undefined,
        limit: countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 100 }),
      }),
  ],
  [
    'POST',
    '/api/timer/:b/entries',
    async (asked) => {
      const { id, at, afterMs, payload, intervalMs, cron, timezone } = await asked.body();
      await callBinding(asked, 'timer.set', { id, at, afterMs, payload, intervalMs, cron, timezone });
      return { id };
    },
  ],
  [
    'DELETE',
    '/api/timer/:b/entries/:id',
    async (asked) => void (await callBinding(asked, 'timer.delete', { id: asked.params['id'] })),
  ],
  [
    'POST',
    '/api/timer/:b/entries/:id/trigger',
    async (asked) => {
      const place = placeOf(asked, 'timer');
      const { timer } = asked.parts.events;
      const found = await timer.get(place, asked.params['id'] as string);
      if (found === null) throw notFound('There is no such timer');
      const { project, branch } = asked.parts;
      const now = Date.now();
      // Set for now with all it has: one that comes again goes on from here.
      await timer.set(place, { project, branch, binding: asked.params['b'] as string }, { ...found, dueAt: now }, now);
      return { id: found.id, scheduledTime: now };
    },
  ],
  [
    'GET',
    '/api/timer/:b/metrics',
    async (asked) => {
      const place = placeOf(asked, 'timer');
      let count = 0;
      let more = true;
      // A page ends early where payloads are large.
      for (let after = ''; more && count < TIMERS_COUNTED;) {
        const page = await asked.parts.events.timer.list(place, { prefix: '', after, limit: TIMERS_COUNTED - count });
        count += page.timers.length;
        ({ more } = page);
        after = page.timers.at(-1)?.id ?? '';
      }
      const runs = ended(asked, 'timer', asked.params['b'] as string) as { outcome: string }[];
      const failedCount = runs.filter(({ outcome }) => outcome !== 'ok').length;
      return { count, more, firedCount: runs.length, failedCount };
    },
  ],
  [
    'GET',
    '/api/timer/:b/executions',
    (asked) => (placeOf(asked, 'timer'), { executions: ended(asked, 'timer', asked.params['b'] as string) }),
  ],
];

/** The schedule `:b`. */
async function cronOf(asked: Asked): Promise<{ name: string }> {
  const { namespace, project, events } = asked.parts;
  const found = (await events.cron.list({ namespace, resource: project })).find(
    ({ name }) => name === asked.params['b'],
  );
  if (found === undefined)
    throw notFound(`platform.yaml declares no cron ${(asked.params['b'] as string).slice(0, 100)}`);
  return found;
}

const cronRoutes: readonly Route[] = [
  [
    'GET',
    '/api/cron',
    async ({ parts }) => ({
      crons: await parts.events.cron.list({ namespace: parts.namespace, resource: parts.project }),
    }),
  ],
  [
    'GET',
    '/api/cron/:b/executions',
    async (asked) => ({ cron: await cronOf(asked), executions: ended(asked, 'cron', asked.params['b'] as string) }),
  ],
  [
    'POST',
    '/api/cron/:b/trigger',
    async (asked) => {
      const { name } = await cronOf(asked);
      const { namespace, project, events } = asked.parts;
      // False: it runs at this moment, and does so once more by itself when it is due.
      return { name, triggered: await events.cron.trigger({ namespace, resource: project }, name, Date.now()) };
    },
  ],
];

function fromJson(text: string): unknown {
  return JSON.parse(text) as unknown;
}

function toRun({ input, output, error, ...rest }: StoredRun): object {
  return {
    ...rest,
    input: fromJson(input),
    output: output === null ? null : fromJson(output),
    error: error === null ? null : fromJson(error),
  };
}

function toHistory({ steps, log }: RunHistory): object {
  return {
    steps: steps.map(({ result, error, ...step }) => ({
      ...step,
      result: result === null ? null : fromJson(result),
      error: error === null ? null : fromJson(error),
    })),
    log: log.map(({ content, ...line }) => ({ ...line, content: content === null ? null : fromJson(content) })),
  };
}

const steers = ['cancel', 'pause', 'resume'] as const;

const workflowRoutes: readonly Route[] = [
  [
    'GET',
    '/api/workflow/:b/executions',
    async (asked) => {
      const status = asked.query.get('status') ?? undefined;
      const cursor = asked.query.get('cursor') ?? undefined;
      const limit = countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 50 });
      return callBinding(asked, 'workflow.list', { status, cursor, limit });
    },
  ],
  [
    'POST',
    '/api/workflow/:b/executions',
    async (asked) => {
      const { input, id } = await asked.body();
      return callBinding(asked, 'workflow.trigger', { input, id });
    },
  ],
  [
    'GET',
    '/api/workflow/:b/executions/:id',
    async (asked) => {
      const place = placeOf(asked, 'workflow');
      const { workflow } = asked.parts.events;
      const [found, history] = await Promise.all([
        workflow.get(place, asked.params['id'] as string),
        workflow.history(place, asked.params['id'] as string),
      ]);
      if (found === null || history === null) throw notFound('There is no such run');
      return { ...toRun(found), ...toHistory(history) };
    },
  ],
  ...steers.map((steer): Route => [
    'POST',
    `/api/workflow/:b/executions/:id/${steer}`,
    async (asked) => void (await callBinding(asked, `workflow.${steer}`, { id: asked.params['id'] })),
  ]),
  [
    'POST',
    '/api/workflow/:b/executions/:id/restart',
    async (asked) => {
      const { fromStep } = await asked.body();
      placeOf(asked, 'workflow');
      await deploymentOf(asked).call('workflow.restart', {
        binding: asked.params['b'],
        id: asked.params['id'],
        fromStep,
      });
    },
  ],
  [
    'POST',
    '/api/workflow/:b/executions/:id/events',
    async (asked) => {
      const { type, payload } = await asked.body();
      await callBinding(asked, 'workflow.sendEvent', { id: asked.params['id'], type, payload });
    },
  ],
];

export const waitingRoutes: readonly Route[] = [...queueRoutes, ...timerRoutes, ...cronRoutes, ...workflowRoutes];

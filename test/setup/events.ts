// Events as a broker gives them to a deployment, and their way in over the private port: for attacks and benchmarks,
// which need no store.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventKind } from '#core/event.ts';
import type { TestPlatform } from './platform.ts';

/**
 * An event of each kind that carries a word: the payload of a message or timer, the name of a schedule, the input of a
 * run of `orders`.
 */
export const eventOf: Readonly<Record<EventKind, (word: string) => object>> = {
  queue: (payload) => ({
    queueName: 'jobs',
    binding: 'JOBS',
    messages: [{ id: 'm1', payload, attempt: 1, timestamp: 1 }],
  }),
  timer: (payload) => ({ binding: 'CLOCK', id: 't1', scheduledTime: 1, payload, intervalMs: null }),
  cron: (name) => ({ name, cron: '* * * * *', scheduledTime: 1 }),
  workflow: (input) => ({ workflow: 'orders', executionId: 'e1', run: 'r1', input, steps: {} }),
};

export const eventKinds = Object.keys(eventOf) as EventKind[];

/**
 * Handlers of all kinds for a worker's default export, each of which calls the worker's `work` with the event's word.
 */
export const eventHandlers = `
  message: ({ payload }) => work(payload),
  timer: ({ payload }) => work(payload),
  scheduled: ({ name }) => work(name),
  workflows: { orders: { handler: ({ input }) => work(input) } },`;

/** What became of an event: the outcome of its invocation, or the status and code of a refusal. */
interface Delivered {
  readonly outcome: string;
  /** What its deployment was charged for it; NaN where it was refused. */
  readonly cpuMs: number;
}

/** Gives an event to what production of a project serves; resolves with its outcome. */
export async function deliver(platform: TestPlatform, project: string, kind: EventKind, word: string): Promise<string> {
  return (await delivered(platform, project, kind, word)).outcome;
}

/** As {@link deliver}, with what it was charged. */
export async function delivered(
  platform: TestPlatform,
  project: string,
  kind: EventKind,
  word: string,
): Promise<Delivered> {
  const { production } = JSON.parse(readFileSync(join(platform.folder, 'routes', `${project}.json`), 'utf8')) as {
    production: string;
  };
  const answer = await platform.ask('/_platform/deliver', {
    deployment: production,
    project,
    kind,
    event: eventOf[kind](word),
  });
  const { outcome, code, cpuMs } = answer.json() as { outcome?: string; code?: string; cpuMs?: number };
  return { outcome: outcome ?? `${answer.status} ${code}`, cpuMs: cpuMs ?? Number.NaN };
}

// Root of the broker process: claims what is due in Postgres and delivers it to the engines of this machine. Several brokers share the
// work. Started by the supervisor with ENGINE_DATABASE_URL, FS_PATH and PRIVATE_ORIGIN; it reads the environment and nothing else does.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { deliveryLimitsFrom } from '#core/delivery-limits.ts';
import { limitsFrom } from '#core/limits.ts';
import { logLevelFrom } from '#core/log-level.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { recipientOf } from '#core/preview.ts';
import type { QueuesSettings } from '#core/queue-settings.ts';
import { openArtifact } from '../router/artifact-source.ts';
import { openRouteFiles } from '../router/route-source-files.ts';
import { nextTime } from '#core/timer-next.ts';
import { openEventsPostgres } from '../stores/event-stores.ts';
import { startBroker } from './broker.ts';
import type { Recipient } from './delivery.ts';
import { createEngineDelivery } from './engine-delivery.ts';

const DRAIN_MS = 5000;
const get = (name: string): string => process.env[name]?.trim() ?? '';
const log = pino({ name: 'broker', level: logLevelFrom(process.env) });

const limits = deliveryLimitsFrom(process.env);
const folder = get('FS_PATH');
// The first start of a platform: engines make theirs later.
mkdirSync(join(folder, 'routes'), { recursive: true });
const stores = openEventsPostgres({ url: get('ENGINE_DATABASE_URL'), name: 'platform broker', limits, connectionsMax: 12 });
const routes = await openRouteFiles({
  folder,
  onProblem: (problem) => log.error(problem, 'A route file is broken; its last good version stays'),
});
const engines = createEngineDelivery({
  origin: get('PRIVATE_ORIGIN'),
  token: get('PRIVATE_PORT_TOKEN') || null,
  connectionsMax: limits.inFlightMax,
});

let projects = new Map<string, RouteRecord>();
/** What was declared of a project last: its production deployment. */
const declared = new Map<string, string>();
/** What production says of its queues. */
const settings = new Map<string, QueuesSettings>();

function resolve({ kind, project, branch, deployment }: Recipient): string | null {
  const record = projects.get(project);
  if (record === undefined) return null;
  // A run goes on with the code that started it, as long as that is kept.
  if (kind === 'workflow') return deployment !== undefined && Object.hasOwn(record.deployments, deployment) ? deployment : null;
  return recipientOf(record, branch);
}

/** Schedules run for production, and dead letters are delivered where production declares their queue. */
async function declare(record: RouteRecord): Promise<void> {
  const { project, production } = record;
  if (production === null || declared.get(project) === production) return;
  const { artifact, branch } = record.deployments[production]!;
  const { cron, bindings, queues = {} } = openArtifact(folder, artifact).manifest;
  settings.set(project, queues);
  const crons = Object.entries(cron).map(([name, schedule]) => ({ name, ...schedule }));
  await stores.cron.declare({ namespace: project, resource: project }, { project, branch }, crons, Date.now());
  const declaredQueues = Object.values(bindings['queue'] ?? {});
  await stores.queue.lanes.consume(project, declaredQueues);
  const atATime = declaredQueues.map((resource) => [resource, queues[resource]?.maxConcurrency ?? 0]);
  await stores.queue.lanes.limit(project, Object.fromEntries(atATime) as Record<string, number>);
  declared.set(project, production);
}

let declaring: Promise<void> = Promise.resolve();
function update(): void {
  projects = new Map(routes.routes.map((record) => [record.project, record]));
  declaring = declaring.then(async () => {
    for (const record of projects.values())
      await declare(record).catch((error: Error) =>
        log.error({ project: record.project, reason: error.message }, 'The schedules of a project could not be taken over'),
      );
    for (const project of declared.keys()) {
      if (projects.has(project)) continue;
      await stores.cron.declare({ namespace: project, resource: project }, { project, branch: '' }, [], Date.now()).catch(() => {});
      declared.delete(project);
      settings.delete(project);
    }
  });
}
update();
routes.onChange(update);
// What failed, while the database was away, is tried again.
const retry = setInterval(update, 60_000);

const presence = await stores.join((error) => log.warn({ reason: (error as Error).message }, 'Other brokers cannot be seen at the moment'));
const broker = await startBroker({
  stores,
  wake: stores.wake,
  presence,
  nextTime,
  resolve,
  queues: (namespace) => settings.get(namespace) ?? {},
  deliver: engines.deliver,
  cpu: limitsFrom(process.env).cpu,
  limits,
  now: Date.now,
  random: Math.random,
  onEvent: (level, message, fields) => log[level](fields, message),
});
process.send?.({ type: 'ready' });
log.info({ member: presence.id }, 'The broker delivers');

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) process.exit(1);
  stopping = true;
  clearInterval(retry);
  routes.close();
  await broker.close(DRAIN_MS);
  await presence.close();
  await engines.close();
  await stores.close();
  process.exit(0);
}
process.on('SIGTERM', () => void stop());
process.on('SIGINT', () => {});
process.on('disconnect', () => void stop());

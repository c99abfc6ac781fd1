// Root of the broker process: claims due events in Postgres and delivers them to the engines of this machine. Several
// brokers share the work. Started by the supervisor with ENGINE_DATABASE_URL, FS_PATH and API_HANDLER_URL; the only
// reader of the environment in the broker.
import { limitsFrom } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { openArtifact } from '#artifacts/artifact-source.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { openEventsPostgres } from '../stores/event-stores-postgres.ts';
import { startBroker } from './broker.ts';
import { createEngineDelivery } from './delivery/engine-delivery.ts';
import { openHandlers } from './delivery/handlers.ts';
import { createRecipients } from './delivery/recipients.ts';

const DRAIN_MS = 5000;
const get = (name: string): string => process.env[name]?.trim() ?? '';
const log = openLog('broker', process.env);

await runProcess(log, async () => {
  const limits = limitsFrom(process.env).delivery;
  const folder = get('FS_PATH');
  const stores = openEventsPostgres({
    url: get('ENGINE_DATABASE_URL'),
    name: 'platform broker',
    limits,
    connectionsMax: 12,
  });
  const routes = await openRouteFiles({
    folder,
    onProblem: (problem) => log.error(problem, 'route file rejected'),
  });
  const engines = createEngineDelivery(
    { token: get('PRIVATE_PORT_TOKEN'), connectionsMax: limits.inFlightMax },
    openHandlers({
      urls: get('API_HANDLER_URL'),
      machineOrigin: get('MACHINE_ORIGIN'),
      sql: stores.sql,
      onTrouble: ({ message }) =>
        log.warn({ reason: message }, 'Machines could not be read: using the last known machines'),
    }),
  );

  const recipients = createRecipients({
    cron: stores.cron,
    lanes: stores.queue.lanes,
    manifestOf: (artifact) => openArtifact(folder, artifact).manifest,
    now: Date.now,
    onTrouble: (project, error) =>
      log.error({ project, reason: error.message }, 'The schedules and queues of a project could not be updated'),
  });
  const update = (): void => void recipients.update(routes.routes);
  update();
  routes.onChange(update);
  // Retries updates that failed while the database was unavailable.
  const retry = setInterval(update, 60_000);

  const presence = await stores.join((error) =>
    log.warn({ reason: (error as Error).message }, 'broker presence check failed'),
  );
  const broker = await startBroker({
    stores,
    wake: stores.wake,
    presence,
    nextTime,
    resolve: recipients.resolve,
    queues: recipients.queues,
    deliver: engines.deliver,
    cpu: limitsFrom(process.env).cpu,
    limits,
    now: Date.now,
    random: Math.random,
    onEvent: (level, message, fields) => log[level](fields, message),
  });
  process.send?.({ type: 'ready' });
  tellFigures(() =>
    Object.entries(broker.inFlight).map(([kind, count]) => ['platform_broker_deliveries_in_flight', { kind }, count]),
  );
  log.info({ member: presence.id }, 'broker started');
  return async () => {
    clearInterval(retry);
    routes.close();
    await broker.close(DRAIN_MS);
    await presence.close();
    await engines.close();
    await stores.close();
  };
});

// Main module of the process `gateway`: serves the AI gateway on two Unix sockets, one for callers with tokens and one
// for engines. The only process with the provider keys. Started by the supervisor, which waits for `{type: 'ready'}`.
import { setTimeout as pause } from 'node:timers/promises';
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { ServedResponse, serveHttp } from '#core/process/serve-http.ts';
import { openPostgresAccounts } from './accounts/postgres/accounts.ts';
import type { GatewayDeps } from './contract/contract.ts';
import { createGateway } from './gateway.ts';
import { readConfiguration } from './process/configuration.ts';
import { createCallCounts } from './process/counts.ts';
import { createRequestHandler } from './process/request-handler.ts';
import { openPrices } from './process/prices.ts';
import { operatorTable } from './process/operator-table.ts';
import { openOutlet } from './process/send.ts';

// The gateway itself is independent of the server.
globalThis.Response = ServedResponse;

const CONNECTIONS_MAX = 8;
/** Time for the last frames of streams that are ended at shutdown. */
const LAST_FRAMES_MS = 1000;

const pino = openLog('gateway', process.env);
const log: GatewayDeps['log'] = (level, message, details) => pino[level](details, message);

async function start(): Promise<() => Promise<void>> {
  const config = readConfiguration(process.env);
  const { limits, planLimits, settings } = config;
  const prices = openPrices(settings.pricesFile, log);
  const outlet = openOutlet();
  const accounts = await openPostgresAccounts({
    connection: { url: config.databaseUrl, name: 'platform gateway', connectionsMax: CONNECTIONS_MAX },
    now: Date.now,
    limitsOf: ({ plan }) => planLimits[plan],
    table: operatorTable(settings),
    keys: config.keys,
    usageDays: limits.usageDays,
    log,
  });
  const counts = createCallCounts();
  const gateway = createGateway({
    ...accounts,
    usage: counts.counted(accounts.usage),
    price: prices.price,
    send: outlet.send,
    log,
    now: Date.now,
    limits,
  });
  const handlerDeps = { gateway, counts, callsMax: limits.callsMax };
  const servers = [
    await serveHttp({ socket: config.socket, fetch: createRequestHandler({ ...handlerDeps, isForEngines: false }) }),
    await serveHttp({
      socket: config.enginesSocket,
      fetch: createRequestHandler({ ...handlerDeps, isForEngines: true }),
    }),
  ];
  process.send?.({ type: 'ready' });
  tellFigures(() => counts.figures());
  return async () => {
    const drained = Promise.all(servers.map((server) => server.drain()));
    await Promise.race([drained, pause(limits.drainMs)]);
    await gateway.close().catch((error: unknown) => pino.error({ err: error }, 'Usage not stored'));
    await Promise.race([drained, pause(LAST_FRAMES_MS)]);
    await Promise.all(servers.map((server) => server.close()));
    prices.close();
    await accounts.close();
    await outlet.close();
  };
}

await runProcess(pino, start);

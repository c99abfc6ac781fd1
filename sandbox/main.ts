// Entry point of the sandbox service: reads the environment, opens its database rows and its machines, and listens on
// an internal port. Started by the supervisor, which waits for `{type: 'ready'}`. Code in sandboxes is untrusted; none
// of it runs in this process.
import { createServer } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';
import { createOwnAddresses } from '#core/egress.ts';
import { openLog } from '#core/log/log.ts';
import { createBearerCheck } from '#core/process/bearer.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { closeIdleLate } from '#core/process/late-close.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';
import type { SandboxBackend } from './backends/backend.ts';
import { openContainerBackend } from './backends/container/backend.ts';
import { openHostedBackend } from './backends/hosted/backend.ts';
import { hostedProgram } from './backends/hosted/program.ts';
import { openProviderApi } from './backends/hosted/provider-api.ts';
import { createExecLog } from './routes/exec-log.ts';
import { createExposedPorts } from './routes/exposed-ports.ts';
import { createSandboxRoutes } from './routes/routes.ts';
import { createAiAccess } from './service/ai-access.ts';
import { createAiTokens } from './service/ai-tokens.ts';
import { isInside, sandboxConfig, type SandboxConfig } from './service/configuration.ts';
import { createPostgresPorts } from './service/exposed-ports-postgres.ts';
import { createReplicas, ownerName, reachReplica } from './service/replicas.ts';
import { createPostgresRows } from './service/rows-postgres.ts';
import { startSandboxes } from './service/sandboxes.ts';

const CONNECTIONS_MAX = 8;
const HEADERS_BYTES_MAX = 64 * 1024;
/**
 * Idle timeout of connections, with the same settings as the platform's other listeners. Without
 * `keepAliveTimeoutBuffer`, Node closes a connection a second later than announced.
 */
const IDLE_MS = 5000;
const INSTALLATION_CHARS = 12;
/** Margin for a lease renewed just before its replica died. */
const LEASE_MARGIN_MS = 1000;
/**
 * How many start timeouts to allow for a forwarded call: a start is tried twice, and the call may queue behind another.
 */
const STARTS = 3;

const log = openLog('sandbox', process.env);
const report = (message: string): void => log.warn(message);

async function openBackend(config: SandboxConfig, installation: string): Promise<SandboxBackend> {
  const { limits, machines } = config;
  if (machines.provider === 'hosted') {
    const { settings } = machines;
    const provider = openProviderApi({ ...settings, answerMs: limits.answerMs });
    const parts = { provider, settings, program: hostedProgram(), installation, startMsMax: limits.answerMs, report };
    return openHostedBackend(parts);
  }
  const policy = { loopback: false, private: machines.reachesPrivate, isOwn: createOwnAddresses() };
  return openContainerBackend({
    ...limits,
    installation,
    socketPath: machines.socketPath,
    image: machines.image,
    images: machines.images,
    builds: machines.builds,
    diskFolder: machines.folder,
    aiUrl: machines.aiUrl,
    egress: { policy, lookup: guardedLookup(policy), hosts: machines.hosts },
    report,
  });
}

/** Sandboxes of another provider are not deleted here. */
async function warnOfOthers(sql: Postgres, provider: string): Promise<void> {
  const [row] = await sql.all<{ count: number }>('SELECT count(*) FROM sandbox.sandbox WHERE provider <> $1', provider);
  if (row!.count > 0)
    report(
      `${row!.count} sandboxes are of another provider than ${provider}: the next call for each starts with empty files, and what they left there is to be removed there`,
    );
}

async function start(): Promise<() => Promise<void>> {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  const config = sandboxConfig(process.env, addresses);
  const { limits, host, port, machines } = config;
  for (const warning of config.warnings) report(warning);
  const sql = openPostgres({
    url: config.databaseUrl,
    name: 'platform sandboxes',
    connectionsMax: CONNECTIONS_MAX,
  });
  const [platform] = await sql.all<{ id: string }>('SELECT id::text FROM control.platform');
  const installation = platform!.id.replaceAll(/[^a-z0-9]/g, '').slice(0, INSTALLATION_CHARS);
  await warnOfOthers(sql, machines.provider);
  const backend = await openBackend(config, installation);
  const times = { idleMs: limits.idleMs, stopMs: limits.stopMs, destroyMs: config.destroyMs };
  const { perProjectMax, leaseMs, sweepMs } = limits;
  const { aiUrl } = backend;
  const sandboxes = startSandboxes({
    backend,
    // The replica's name is stable across restarts, so that a restarted service finds its rows.
    rows: createPostgresRows({
      sql,
      owner: ownerName(hostname(), config.address),
      provider: machines.provider,
      perProjectMax,
      leaseMs,
      times,
    }),
    times,
    leaseMs,
    sweepMs,
    perProjectMax,
    machineMax: config.machineMax,
    ai:
      aiUrl === null
        ? null
        : createAiAccess({ tokens: createAiTokens(sql), url: aiUrl, connect: (key) => backend.connect(key), report }),
    report,
  });
  const routes = createSandboxRoutes({
    sandboxes,
    isAuthorized: createBearerCheck(config.token),
    callsMax: limits.callsMax,
    placement: createReplicas({
      token: config.token,
      waitMs: leaseMs + LEASE_MARGIN_MS,
      startMs: STARTS * limits.answerMs,
    }),
    elsewhere: reachReplica,
    execLog: config.logsExec ? createExecLog((line) => log.info(line, 'Output of a command')) : null,
    status: async () => ({
      provider: machines.provider,
      ...sandboxes.figures(),
      checks: (await backend.checks?.()) ?? [],
    }),
    ports: {
      exposed: createExposedPorts({ rows: createPostgresPorts(sql), sandboxes, secret: config.token }),
      visitsMax: limits.portRequestsMax,
      idleMs: limits.portIdleMs,
    },
    log: (level, message) => log[level](message),
  });
  const server = createServer(
    { requestTimeout: 0, maxHeaderSize: HEADERS_BYTES_MAX, keepAliveTimeout: IDLE_MS, keepAliveTimeoutBuffer: 0 },
    routes,
  );
  closeIdleLate(server);
  // Another replica sends a call's body only after the sandbox is held here.
  server.on('checkContinue', routes);
  server.on('upgrade', routes.upgrade);
  server.on('connection', (socket) => {
    if (!isInside(socket.remoteAddress ?? '')) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(port, host, resolve));
  const address = server.address() as { port: number };
  log.info({ host, port: address.port, provider: machines.provider }, 'Sandbox service listening');
  process.send?.({ type: 'ready', port: address.port });
  tellFigures(() => {
    const { held, running } = sandboxes.figures();
    return [
      ['platform_sandboxes_held', {}, held],
      ['platform_sandboxes_running', {}, running],
    ];
  });
  return async () => {
    server.close();
    server.closeAllConnections();
    await sandboxes.close();
  };
}

await runProcess(log, start);

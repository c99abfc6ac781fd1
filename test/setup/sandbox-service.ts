// The sandbox service in the test's process, over a backend of its own: agents in the same process unless another one
// is given, or processes of this machine where a test of test/control/ has said so (over-processes.ts).
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createBearerCheck } from '#core/process/bearer.ts';
import type { SandboxServiceAddress } from '#core/sandbox/service-client.ts';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';
import { createExposedPorts } from '#sandbox/routes/exposed-ports.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import { createMemoryPorts } from '#sandbox/service/exposed-ports-memory.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { startSandboxes, type RunningSandboxes } from '#sandbox/service/sandboxes.ts';
import { createSandboxesHere } from './sandboxes-here.ts';

const TOKEN = 'fa02c1d4e5b6978812345678deadbeef';

/** A service that answers. */
export interface TestSandboxService {
  readonly address: SandboxServiceAddress;
  readonly sandboxes: RunningSandboxes;
  readonly backend: SandboxBackend;
  /** Where local sandboxes have their files. */
  readonly folder: string;
  /** Paths of requests, in their order. */
  readonly asked: readonly string[];
  /** Refuses connections, and ends those there are, until {@link comeBack}. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

/** @param given backend over other machines; closed with the service. */
export async function startTestSandboxService(given?: SandboxBackend): Promise<TestSandboxService> {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-service-'));
  // Commands find the Node that runs the test.
  const environment = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  const own = (): SandboxBackend =>
    process.env['TEST_PLATFORM'] === 'processes'
      ? createLocalBackend({ folder, environment, warn: () => {} })
      : createSandboxesHere(folder, environment);
  const backend = given ?? own();
  const times = { idleMs: 600_000, stopMs: 600_000, destroyMs: 600_000 };
  const { provider } = backend;
  const rows = createMemoryRows({ provider, perProjectMax: 10, times });
  const sandboxes = startSandboxes({
    backend,
    rows,
    times,
    leaseMs: 30_000,
    sweepMs: 30_000,
    perProjectMax: 10,
    report: () => {},
  });
  const asked: string[] = [];
  const isAuthorized = createBearerCheck(TOKEN);
  const exposed = createExposedPorts({ rows: createMemoryPorts(rows), sandboxes, secret: TOKEN });
  const ports = { exposed, visitsMax: 100, idleMs: 60_000 };
  const routes = createSandboxRoutes({ sandboxes, isAuthorized, callsMax: 100, ports, log: () => {} });
  const service: Server = createServer((request, response) => {
    asked.push(request.url!);
    routes(request, response);
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void service.listen(port, '127.0.0.1', resolve));
  const goAway = async (): Promise<void> => {
    const closed = new Promise((resolve) => void service.close(resolve));
    service.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = service.address() as AddressInfo;
  return {
    address: { url: `http://127.0.0.1:${port}`, token: TOKEN },
    sandboxes,
    backend,
    folder,
    asked,
    goAway,
    comeBack: () => listen(port),
    async close() {
      if (service.listening) await goAway();
      await sandboxes.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

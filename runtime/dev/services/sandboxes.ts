// Sandboxes of `platform dev`: the same service as in production, in this process, over a private socket; rows in a
// file, machines as processes of this computer. Started with the first call. dev.ts opens it.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createBearerCheck } from '#core/process/bearer.ts';
import { PlatformError } from '#core/errors.ts';
import { storedOptions } from '#core/sandbox/options.ts';
import type { SandboxLimits } from '#core/limits.ts';
import { takeLock } from '#deployments/file-lock.ts';
import { createSandboxTransport, type SandboxTransport } from '../../engine/bindings/sandbox-transport.ts';
import { createLocalBackend } from '../../sandbox/backends/local/local.ts';
import { createExposedPorts } from '../../sandbox/exposed-ports.ts';
import { createSandboxRoutes } from '../../sandbox/routes.ts';
import { createMemoryPorts } from '../../sandbox/service/exposed-ports-memory.ts';
import { createMemoryRows } from '../../sandbox/service/rows-memory.ts';
import type { SandboxRow } from '../../sandbox/service/rows.ts';
import { startSandboxes } from '../../sandbox/service/sandboxes.ts';

// An import reads all its exports, among them the getters that load Node's own HTTP client.
const { createServer } = process.getBuiltinModule('node:http');

/** What it is made of. */
interface LocalSandboxesParts {
  /** Of this project: its sandboxes are nobody else's. */
  readonly folder: string;
  readonly limits: SandboxLimits;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where exposed ports are visited, such as `http://*.localhost:3000`. */
  readonly portOrigin: () => string;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** Sandboxes that nobody calls for 30 days are gone. */
const RETENTION_MS = 30 * 86_400_000;

export function openLocalSandboxes(parts: LocalSandboxesParts): SandboxTransport {
  let opened: Promise<SandboxTransport> | null = null;
  const open = (): Promise<SandboxTransport> =>
    (opened ??= start(parts).catch((error: unknown) => {
      opened = null;
      throw error;
    }));
  return {
    request: async (request) => (await open()).request(request),
    async close() {
      await (await opened?.catch(() => null))?.close();
    },
  };
}

async function start({ folder, limits, environment, portOrigin, log }: LocalSandboxesParts): Promise<SandboxTransport> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(path.join(folder, 'lock'));
  if (lock === null)
    throw new PlatformError('sandbox_unavailable', {
      reason: 'another platform dev of this project has its sandboxes',
    });
  const times = { idleMs: limits.idleMs, stopMs: limits.stopMs, destroyMs: RETENTION_MS };
  const { perProjectMax, leaseMs, sweepMs, callsMax } = limits;
  const rowsFile = path.join(folder, 'rows.json');
  const rows = createMemoryRows({
    provider: 'local',
    perProjectMax,
    times,
    initial: readRows(rowsFile),
    onChange(all) {
      writeFileSync(`${rowsFile}.new`, JSON.stringify(all), { mode: 0o600 });
      renameSync(`${rowsFile}.new`, rowsFile);
    },
  });
  const sandboxes = startSandboxes({
    backend: createLocalBackend({
      folder: path.join(folder, 'machines'),
      environment,
      warn: (message) => log('warn', message),
    }),
    rows,
    times,
    leaseMs,
    sweepMs,
    perProjectMax,
    report: (message) => log('warn', message),
  });
  const token = randomBytes(32).toString('hex');
  const server = createServer(
    { requestTimeout: 0, maxHeaderSize: 64 * 1024 },
    createSandboxRoutes({
      sandboxes,
      isAuthorized: createBearerCheck(token),
      callsMax,
      ports: {
        exposed: createExposedPorts({ rows: createMemoryPorts(rows), sandboxes, secret: token }),
        visitsMax: limits.portRequestsMax,
        idleMs: limits.portIdleMs,
      },
      log,
    }),
  );
  const sockets = mkdtempSync(path.join(tmpdir(), 'platform-sandboxes-'));
  const socketPath = path.join(sockets, 'service');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(socketPath, resolve);
  });
  const transport = createSandboxTransport({ origin: 'http://sandboxes', socketPath, token, portOrigin });
  return {
    request: transport.request,
    async close() {
      await transport.close();
      server.closeAllConnections();
      server.close();
      await sandboxes.close();
      rmSync(sockets, { recursive: true, force: true });
      lock.release();
    },
  };
}

/** None where there is no file, or one that says nothing: the folders of such sandboxes are removed. */
function readRows(file: string): readonly SandboxRow[] {
  try {
    const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly SandboxRow[];
    // What ran, ran in a process that has ended.
    return rows.map((row) => ({
      ...row,
      state: row.state === 'creating' ? 'creating' : 'stopped',
      options: storedOptions(row.options),
    }));
  } catch {
    return [];
  }
}

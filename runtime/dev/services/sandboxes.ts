// Sandboxes of `platform dev`: the same service as in production, in this process, over a private socket; rows in a
// file, machines from sandbox-machines.ts. Started with the first call, or if a killed dev has left some. Opened by
// dev.ts.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createBearerCheck } from '#core/process/bearer.ts';
import { PlatformError } from '#core/errors.ts';
import { storedOptions } from '#core/sandbox/options.ts';
import type { SandboxLimits } from '#core/limits.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { createExposedPorts } from '#sandbox/routes/exposed-ports.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import { createAiAccess } from '#sandbox/service/ai-access.ts';
import { createMemoryPorts } from '#sandbox/service/exposed-ports-memory.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import type { SandboxRow } from '#sandbox/service/rows.ts';
import { startSandboxes } from '#sandbox/service/sandboxes.ts';
import { createSandboxTransport, type SandboxTransport } from '../../engine/bindings/sandbox-transport.ts';
import { openSandboxAi, type AskAi } from './sandbox-ai.ts';
import { openDevMachines, sandboxChoice, type SandboxChoice } from './sandbox-machines.ts';

// An import reads all its exports, including the getters that load Node's own HTTP client.
const { createServer } = process.getBuiltinModule('node:http');

/** Dependencies. */
interface LocalSandboxesDeps {
  /** Folder of this project: its sandboxes are not shared. */
  readonly folder: string;
  readonly limits: SandboxLimits;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Origin of exposed ports, such as `http://*.localhost:3000`. */
  readonly portOrigin: () => string;
  /** The AI gateway; null: there is none. */
  readonly ai: AskAi | null;
  /** Project name for counting gateway calls. */
  readonly project: string;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** Sandboxes are deleted after 30 days without calls. */
const RETENTION_MS = 30 * 86_400_000;

/** @throws {Error} if `PLATFORM_DEV_SANDBOX` is invalid. */
export function openLocalSandboxes(deps: LocalSandboxesDeps): SandboxTransport {
  const choice = sandboxChoice(deps.environment);
  let opened: Promise<SandboxTransport> | null = null;
  const open = (): Promise<SandboxTransport> =>
    (opened ??= start({ ...deps, choice }).catch((error: unknown) => {
      opened = null;
      throw error;
    }));
  if (choice !== 'local' && hasLeft(rowsFileOf(deps.folder, 'container')))
    void open().catch((error: unknown) =>
      deps.log('warn', `sandboxes of an earlier dev were not stopped: ${(error as Error).message}`),
    );
  return {
    request: async (request) => (await open()).request(request),
    handshake: async (path) => (await open()).handshake(path),
    async close() {
      await (await opened?.catch(() => null))?.close();
    },
  };
}

async function start(deps: LocalSandboxesDeps & { readonly choice: SandboxChoice | null }): Promise<SandboxTransport> {
  const { folder, limits, portOrigin, project, log } = deps;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(path.join(folder, 'lock'));
  if (lock === null)
    throw new PlatformError('sandbox_unavailable', {
      reason: 'another `platform dev` of this project holds the sandboxes',
    });
  const times = { idleMs: limits.idleMs, stopMs: limits.stopMs, destroyMs: RETENTION_MS };
  const { perProjectMax, leaseMs, sweepMs, callsMax } = limits;
  const ai = deps.ai === null ? null : await openSandboxAi(deps.ai, project, log);
  const backend = await openDevMachines({ ...deps, aiUrl: ai?.url ?? null }).catch((error: unknown) => {
    ai?.close();
    lock.release();
    throw error;
  });
  const { provider } = backend;
  const rowsFile = rowsFileOf(folder, provider);
  let kept = readRows(rowsFile);
  const write = (): void => {
    writeFileSync(`${rowsFile}.new`, JSON.stringify(kept), { mode: 0o600 });
    renameSync(`${rowsFile}.new`, rowsFile);
  };
  const rows = createMemoryRows({
    provider,
    perProjectMax,
    times,
    initial: kept,
    onChange(all) {
      kept = all;
      write();
    },
  });
  const report = (message: string): void => log('warn', message);
  const sandboxes = startSandboxes({
    backend,
    rows,
    times,
    leaseMs,
    sweepMs,
    perProjectMax,
    ai:
      ai === null
        ? null
        : createAiAccess({ tokens: ai.tokens, url: backend.aiUrl!, connect: (key) => backend.connect(key), report }),
    report,
  });
  const token = randomBytes(32).toString('hex');
  const routes = createSandboxRoutes({
    sandboxes,
    isAuthorized: createBearerCheck(token),
    callsMax,
    ports: {
      exposed: createExposedPorts({ rows: createMemoryPorts(rows), sandboxes, secret: token }),
      visitsMax: limits.portRequestsMax,
      idleMs: limits.portIdleMs,
    },
    log,
  });
  const server = createServer({ requestTimeout: 0, maxHeaderSize: 64 * 1024 }, routes).on('upgrade', routes.upgrade);
  const sockets = mkdtempSync(path.join(tmpdir(), 'platform-sandboxes-'));
  const socketPath = path.join(sockets, 'service');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(socketPath, resolve);
  });
  const transport = createSandboxTransport({ origin: 'http://sandboxes', socketPath, token, portOrigin });
  return {
    request: transport.request,
    handshake: transport.handshake,
    async close() {
      await transport.close();
      server.closeAllConnections();
      server.close();
      await sandboxes.close();
      ai?.close();
      kept = kept.map(asStopped);
      write();
      rmSync(sockets, { recursive: true, force: true });
      lock.release();
    },
  };
}

/** Machines of one kind cannot be found by another one. */
function rowsFileOf(folder: string, provider: string): string {
  return path.join(folder, provider === 'local' ? 'rows.json' : `rows-${provider}.json`);
}

const asStopped = (row: SandboxRow): SandboxRow => ({
  ...row,
  state: row.state === 'creating' ? 'creating' : 'stopped',
});

/** Sandboxes without a valid file are ignored, and their data is removed. */
function readRows(file: string): readonly SandboxRow[] {
  try {
    const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly SandboxRow[];
    // Running ones ran in a process or a container that has ended.
    return rows.map((row) => ({ ...asStopped(row), options: storedOptions(row.options) }));
  } catch {
    return [];
  }
}

/** Whether the dev that wrote this was not shut down properly. */
function hasLeft(file: string): boolean {
  try {
    const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly SandboxRow[];
    return rows.some(({ state }) => state !== 'stopped');
  } catch {
    return false;
  }
}

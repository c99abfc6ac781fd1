// The sandbox service inside `platform dev`, over a private socket, with rows in a file and machines from
// sandbox-machines.ts. Loaded by sandboxes.ts with the first call.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createBearerCheck } from '#core/process/bearer.ts';
import { PlatformError } from '#core/errors.ts';
import type { SandboxLimits } from '#core/limits.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { createExposedPorts } from '#sandbox/routes/exposed-ports.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import { createAiAccess } from '#sandbox/service/ai-access.ts';
import { createMemoryPorts } from '#sandbox/service/exposed-ports-memory.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { startSandboxes } from '#sandbox/service/sandboxes.ts';
import { createSandboxTransport, type SandboxTransport } from '../../engine/bindings/sandbox-transport.ts';
import { openSandboxAi, type AskAi } from './sandbox-ai.ts';
import type { SandboxChoice } from './sandbox-choice.ts';
import { openDevMachines } from './sandbox-machines.ts';
import { asStopped, readRows, rowsFileOf } from './sandbox-rows.ts';

// `node:http` is not imported, because an import reads all exports, including the getters that load Node's own HTTP
// client.
const { createServer } = process.getBuiltinModule('node:http');

/** Dependencies. */
export interface LocalSandboxesDeps {
  /** Folder of this project, whose sandboxes are not shared. */
  readonly folder: string;
  readonly limits: SandboxLimits;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Origin of exposed ports, such as `http://*.localhost:3000`. */
  readonly portOrigin: () => string;
  /** The AI gateway, or null. */
  readonly ai: AskAi | null;
  /** The project name under which gateway calls are counted. */
  readonly project: string;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** Sandboxes are deleted after 30 days without calls. */
const RETENTION_MS = 30 * 86_400_000;

/** @throws {PlatformError} `sandbox_unavailable` when another `platform dev` uses the sandboxes, or none can start. */
export async function startLocalSandboxes(
  deps: LocalSandboxesDeps & { readonly choice: SandboxChoice | null },
): Promise<SandboxTransport> {
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

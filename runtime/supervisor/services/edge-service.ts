// Runs the edge (Caddy and runtime/edge/) if PUBLIC_HTTPS is on.
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { secretProblem } from '#core/process/generated-secrets.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { isHttpsOn } from '#core/public-https.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process, without those of other services. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|COMPILE_CACHE)|FS_PATH|LOG_LEVEL|LOG_FORMAT|NO_COLOR|CADDY_BIN|TRUSTED_PROXIES|HANDLER_DOMAIN|PUBLIC_(?:PORT|API_URL)|AUTH_URL|DOCS_URL|(?:API|UI|DOCS)_PORT|(?:EDGE|ACME)_[A-Z_]+)$/;

/**
 * The token by which engines and the API identify requests from the edge: `EDGE_TOKEN`, else a token for this start; ''
 * if there is no edge here or elsewhere. @throws {Error} for a weak token.
 */
export function edgeToken(environment: Environment): string {
  const given = environment['EDGE_TOKEN']?.trim() ?? '';
  const problem = given === '' ? null : secretProblem('EDGE_TOKEN', given);
  if (problem !== null) throw new Error(problem);
  return given !== '' || !isHttpsOn(environment['PUBLIC_HTTPS'] ?? '') ? given : randomBytes(32).toString('hex');
}

/** The edge of this machine. */
export interface EdgeService {
  readonly spec: ServiceSpec;
  /** Sends the edge the current handlers that machines announced, as `host:port`. */
  setHandlers(upstreams: readonly string[], at: string): void;
  /** The time of the last list that the edge has applied, or null. */
  usedAt(): string | null;
}

/** Null if PUBLIC_HTTPS is off. @param port of deployments. */
export function edgeService(given: {
  readonly environment: Environment;
  readonly folder: string;
  readonly port: number;
  readonly token: string;
  /** Whether machines announce themselves here. */
  readonly hasMachines: boolean;
  /** Unix socket of Caddy's metrics. */
  readonly onMetricsSocket: (path: string) => void;
}): EdgeService | null {
  const { environment, folder, port, token, hasMachines, onMetricsSocket } = given;
  if (!isHttpsOn(environment['PUBLIC_HTTPS'] ?? '')) return null;
  if (folder === '') throw new Error('PUBLIC_HTTPS is on, but FS_PATH is not set: certificates need a data folder');
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `../../edge/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  let child: ChildProcess | null = null;
  let isReady = false;
  let wanted: { readonly upstreams: readonly string[]; readonly at: string } | null = null;
  let usedAt: string | null = null;
  const tell = (): void => {
    if (isReady && wanted !== null && child?.connected === true) child.send({ type: 'handlers', ...wanted }, () => {});
  };
  const spec: ServiceSpec = {
    name: 'edge',
    start() {
      isReady = false;
      child = fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: {
          ...own,
          FS_PATH: folder,
          HANDLER_PORT: String(port),
          EDGE_TOKEN: token,
          EDGE_MACHINES: hasMachines ? 'on' : '',
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      return child;
    },
    onMessage(message) {
      const { type, metricsSocket, at } = message as Readonly<Record<string, unknown>>;
      if (type === 'handlers-used' && typeof at === 'string') usedAt = at;
      if (type !== 'ready' || typeof metricsSocket !== 'string') return;
      isReady = true;
      onMetricsSocket(metricsSocket);
      tell();
    },
    readyMsMax: 30_000,
    stopMsMax: 20_000,
  };
  return {
    spec,
    setHandlers(upstreams, at) {
      wanted = { upstreams, at };
      tell();
    },
    usedAt: () => usedAt,
  };
}

// Runs the edge (Caddy with runtime/edge/ beside it): only if PUBLIC_HTTPS is on.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { secretProblem } from '#core/process/generated-secrets.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { isHttpsOn } from '#core/public-https.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process: none of other services. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|COMPILE_CACHE)|FS_PATH|LOG_LEVEL|LOG_FORMAT|NO_COLOR|CADDY_BIN|TRUSTED_PROXIES|HANDLER_DOMAIN|PUBLIC_(?:PORT|API_URL)|AUTH_URL|DOCS_URL|(?:API|UI|DOCS)_PORT|(?:EDGE|ACME)_[A-Z_]+)$/;

/**
 * The token by which engines and the API identify requests from the edge: `EDGE_TOKEN`, else one for this start; ''
 * if there is no edge here or elsewhere. @throws {Error} for a weak one.
 */
export function edgeToken(environment: Environment): string {
  const given = environment['EDGE_TOKEN']?.trim() ?? '';
  const problem = given === '' ? null : secretProblem('EDGE_TOKEN', given);
  if (problem !== null) throw new Error(problem);
  return given !== '' || !isHttpsOn(environment['PUBLIC_HTTPS'] ?? '') ? given : randomBytes(32).toString('hex');
}

/** Null if PUBLIC_HTTPS is off. @param port of deployments. */
export function edgeService(given: {
  readonly environment: Environment;
  readonly folder: string;
  readonly port: number;
  readonly token: string;
  /** Unix socket of Caddy's metrics. */
  readonly onMetricsSocket: (path: string) => void;
}): ServiceSpec | null {
  const { environment, folder, port, token, onMetricsSocket } = given;
  if (!isHttpsOn(environment['PUBLIC_HTTPS'] ?? '')) return null;
  if (folder === '') throw new Error('PUBLIC_HTTPS is on, but FS_PATH is not set: certificates need a data folder');
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `../../edge/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  return {
    name: 'edge',
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: { ...own, FS_PATH: folder, HANDLER_PORT: String(port), EDGE_TOKEN: token },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    onMessage(message) {
      const { type, metricsSocket } = message as { readonly type?: unknown; readonly metricsSocket?: unknown };
      if (type === 'ready' && typeof metricsSocket === 'string') onMetricsSocket(metricsSocket);
    },
    readyMsMax: 30_000,
    stopMsMax: 20_000,
  };
}

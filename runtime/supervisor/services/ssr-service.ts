// Runs the process that manages the servers of ssr projects (runtime/ssr/), when an engine needs the first server. The
// process gets no key and no password, because untrusted code runs in its child processes.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { limitVariables, type Limits } from '#core/limits.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { CALLS_PREFIX } from '#core/ssr/protocol.ts';
import type { Parts } from '../engines/parts.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process, besides limits. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|COMPILE_CACHE)|PLATFORM_FENCE|LOG_LEVEL|LOG_FORMAT|NO_COLOR|FS_PATH|WORKER_(?:EGRESS_ALLOW|DNS_SERVERS))$/;

/** Longer than the time that its servers get to end. */
const STOP_SPARE_MS = 5000;

/** Servers for Node that run here, and the variables for engines. */
interface ServerDeps {
  readonly specs: readonly ServiceSpec[];
  readonly engineEnvironment: Readonly<Record<string, string>>;
}

/**
 * Runs next to the engines on demand, or standalone for handlers that share a folder of sockets with it
 * (`SSR_SOCKETS_DIR`), such as in containers.
 *
 * @param sockets private folder of the supervisor's sockets
 */
export function serverParts(
  environment: Environment,
  given: { readonly parts: Parts; readonly folder: string; readonly sockets: string; readonly limits: Limits },
): ServerDeps {
  const { parts, folder, sockets, limits } = given;
  const shared = environment['SSR_SOCKETS_DIR']?.trim() ?? '';
  const serves = parts.has('handler');
  const stays = parts.isChosen && parts.has('servers');
  const where = shared === '' ? sockets : shared;
  const runs = folder !== '' && (stays || (serves && shared === ''));
  return {
    specs: runs ? [ssrService({ environment, sockets: where, stopMs: limits.ssr.stopMs, stays })] : [],
    engineEnvironment:
      serves && folder !== ''
        ? {
            ENGINE_SSR_SOCKET: join(where, 'ssr.sock'),
            ...(shared !== '' && { ENGINE_SSR_CALLS: join(shared, CALLS_PREFIX) }),
          }
        : {},
  };
}

function ssrService(given: {
  readonly environment: Environment;
  readonly sockets: string;
  readonly stopMs: number;
  /** It runs permanently. */
  readonly stays: boolean;
}): ServiceSpec {
  const { environment, sockets, stopMs, stays } = given;
  const isKept = (name: string): boolean => KEPT.test(name) || limitVariables.includes(name);
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => isKept(name)));
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `../../ssr/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  return {
    name: 'ssr',
    isOnDemand: !stays,
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: { ...own, SSR_SOCKETS: sockets },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    readyMsMax: 20_000,
    stopMsMax: stopMs + STOP_SPARE_MS,
  };
}

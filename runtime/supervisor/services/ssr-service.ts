// How the supervisor runs the process of servers of ssr projects (runtime/ssr/): when an engine wants the first one. It
// gets no key and no password: strangers' code runs in processes below it.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { limitVariables } from '#core/limits.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the process gets of the operator's environment beside bounds. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|FS_PATH|WORKER_(?:EGRESS_ALLOW|DNS_SERVERS))$/;

/** More than its servers get to end. */
const STOP_SPARE_MS = 5000;

/** Where engines ask for servers. */
export function ssrSocket(sockets: string): string {
  return join(sockets, 'ssr.sock');
}

export function ssrService(given: {
  readonly environment: Environment;
  /** Private folder of the supervisor's sockets. */
  readonly sockets: string;
  readonly stopMs: number;
}): ServiceSpec {
  const { environment, sockets, stopMs } = given;
  const isKept = (name: string): boolean => KEPT.test(name) || limitVariables.includes(name);
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => isKept(name)));
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `../../ssr/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  return {
    name: 'ssr',
    isOnDemand: true,
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

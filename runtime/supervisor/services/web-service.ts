// Runs the web process (web/), which serves the dashboard and the documentation: with a control plane, unless
// `UI_PORT` and `DOCS_PORT` are both `off`.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { nodeCommand, smallHeapFlags } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process, without those of other services. */
const KEPT =
  /^(?:PATH|HOME|TZ|TMPDIR|XDG_CACHE_HOME|NODE_(?:ENV|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|PLATFORM_CACHE_DIR|API_HOST|AUTH_URL|(?:UI|DOCS|WEB)_[A-Z_]+)$/;

/** Ports of the web process when it is ready; null means that the port is off. */
export interface WebState {
  readonly uiPort: number | null;
  readonly docsPort: number | null;
}

/** Address of the API process for the web process, and the token that identifies it. */
export interface WebProxy {
  readonly socket: string;
  readonly token: string;
}

interface WebServiceDeps {
  readonly environment: Environment;
  /** Null means that the environment contains the address and the token. */
  readonly proxy: WebProxy | null;
  readonly onReady: (state: WebState) => void;
}

/** Null if there is no site to serve. */
export function webService({ environment, proxy, onReady }: WebServiceDeps): ServiceSpec | null {
  const isOff = (name: string): boolean => environment[name]?.trim().toLowerCase() === 'off';
  if (isOff('UI_PORT') && isOff('DOCS_PORT')) return null;
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `../../../web/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  return {
    name: 'web',
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, ...smallHeapFlags],
        env: { ...own, ...(proxy !== null && { WEB_API_URL: `unix:${proxy.socket}`, WEB_TOKEN: proxy.token }) },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    onMessage(message) {
      if ((message as { type?: unknown }).type === 'ready') onReady(message as WebState);
    },
    readyMsMax: 20_000,
    stopMsMax: 5000,
  };
}

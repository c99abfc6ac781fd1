// Runs the database of bindings, and the broker that uses it. `DATABASE_URL=none` switches both off: queues, timers,
// workflows and state then report that they are not available.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { nodeCommand, smallHeapFlags } from '#core/process/node-command.ts';
import type { Handlers } from '../machine/handlers.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables for these services, without those of other services. */
const ofPostgres =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|COMPILE_CACHE)|FS_PATH|DISK_FREE_BYTES_MIN|LOG_LEVEL|LOG_FORMAT|NO_COLOR|DATABASE_URL|ENGINE_DATABASE_URL|SANDBOX_DATABASE_URL|SANDBOX_PROVIDER|PG[A-Z]+)$/;
const ofBroker =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|COMPILE_CACHE)|FS_PATH|LOG_LEVEL|LOG_FORMAT|NO_COLOR|(?:QUEUE|DELIVERY|BROKER|TIMERS?|WORKFLOW|WORKER_CPU_LIMIT_MS)_[A-Z_]+)$/;

/** Dependencies and callbacks of the services. */
interface EventServiceDeps {
  readonly environment: Environment;
  /** Data folder; '' for none. */
  readonly folder: string;
  /** Called with the engines' database URL. */
  readonly onEngineUrl: (url: string) => void;
  /** Called with the database URL of the owner, for the control plane and the builder, which run no tenant code. */
  readonly onOwnerUrl: (url: string) => void;
  /** Called with the sandbox service's database URL. */
  readonly onSandboxUrl: (url: string) => void;
  /** Whether a broker runs here: without a private port, no event can be delivered. */
  readonly delivers: boolean;
  /** Where handlers are. */
  readonly handlers: () => Handlers;
}

/** The services in their start order; none without a data folder, or if they are switched off. */
export function eventServices({
  environment,
  folder,
  onEngineUrl,
  onOwnerUrl,
  onSandboxUrl,
  delivers,
  handlers,
}: EventServiceDeps): ServiceSpec[] {
  if (folder === '' || (environment['DATABASE_URL'] ?? '').toLowerCase() === 'none') return [];
  let engineUrl = '';
  const postgres: ServiceSpec = {
    name: 'postgres',
    start: () => start('../../../postgres/main', smallHeapFlags, { ...pick(environment, ofPostgres), FS_PATH: folder }),
    onMessage(message) {
      const { engineUrl: url, ownerUrl, sandboxUrl } = message as Readonly<Record<string, unknown>>;
      if (typeof sandboxUrl === 'string') onSandboxUrl(sandboxUrl);
      if (typeof ownerUrl === 'string') onOwnerUrl(ownerUrl);
      if (typeof url !== 'string') return;
      engineUrl = url;
      onEngineUrl(url);
    },
    // The time limit is long, because the first start creates the data, and an upgrade may take long.
    readyMsMax: 600_000,
    stopMsMax: 20_000,
  };
  const broker: ServiceSpec = {
    name: 'broker',
    start() {
      const { urls, token, machineOrigin } = handlers();
      return start('../../broker/main', ['--disable-warning=ExperimentalWarning'], {
        ...pick(environment, ofBroker),
        FS_PATH: folder,
        ENGINE_DATABASE_URL: engineUrl,
        API_HANDLER_URL: urls,
        PRIVATE_PORT_TOKEN: token,
        ...(machineOrigin !== null && { MACHINE_ORIGIN: machineOrigin }),
      });
    },
    readyMsMax: 30_000,
    stopMsMax: 10_000,
  };
  return delivers ? [postgres, broker] : [postgres];
}

function pick(environment: Environment, names: RegExp): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => names.test(name)));
}

function start(module: string, flags: readonly string[], env: Record<string, string | undefined>): ChildProcess {
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `${module}${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  return fork(script, {
    execPath: program,
    execArgv: [...before, ...flags],
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

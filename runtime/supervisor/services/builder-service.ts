// How the supervisor runs the builder: on demand, when the control plane asks for it, and only beside a control plane.
// The builder runs strangers' code in processes of its own; what it gets of the environment reaches none of them.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { buildExecutor } from '#core/build-executor.ts';
import { sharedEncryptionKey } from '#core/process/generated-secrets.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the process gets of the operator's environment. */
const KEPT =
  /^(?:PATH|TZ|LANG|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|SSL_CERT_(?:FILE|DIR)|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|LOG_LEVEL|LOG_FORMAT|NO_COLOR|WORKER_CONCURRENCY|DISK_FREE_BYTES_MIN|HANDLER_DOMAIN|WORKER_EGRESS_ALLOW|(?:GITHOST|GIT|PUBLIC|BUILD|npm_config)_[A-Za-z_]+)$/;

/** Where builds run in sandboxes, and nowhere else. */
const OF_SANDBOXES = /^SANDBOX_(?:URL|AUTH_TOKEN|PROVIDER|NETWORK_ISOLATION)$/;

interface BuilderServiceParts {
  readonly environment: Environment;
  /** Data folder. */
  readonly folder: string;
  /** Where deployments are served. */
  readonly port: number;
  /** URL of the database's owner. */
  readonly databaseUrl: () => string;
  /** Whether it runs all the time: no control plane beside it can ask for it. */
  readonly stays: boolean;
  /** Whether this supervisor runs servers for Node too. */
  readonly runsServers: boolean;
}

/** After which a builder that stays would end for want of work. */
const NEVER_MS = 2 ** 48;

/** @throws {Error} when a setting of builds is one that no builder takes. */
export function builderService(given: BuilderServiceParts): ServiceSpec {
  const { environment, folder, port, databaseUrl, stays, runsServers } = given;
  // What is wrong is said at the platform's start rather than at the first build.
  const inSandboxes = buildExecutor(environment) !== null;
  const isKept = (name: string): boolean => KEPT.test(name) || (inSandboxes && OF_SANDBOXES.test(name));
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => isKept(name)));
  const ENCRYPTION_KEY = sharedEncryptionKey(environment, folder);
  const [program, ...before] = nodeCommand();
  const script = join(
    import.meta.dirname,
    `../../../builder/service/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  );
  return {
    name: 'builder',
    isOnDemand: !stays,
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: {
          ...own,
          ...(stays && { BUILD_IDLE_MS: String(NEVER_MS) }),
          ...(runsServers && { PLATFORM_SERVERS_HERE: '1' }),
          ENCRYPTION_KEY,
          FS_PATH: folder,
          HANDLER_PORT: String(port),
          DATABASE_URL: databaseUrl(),
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    readyMsMax: 60_000,
    stopMsMax: 10_000,
  };
}

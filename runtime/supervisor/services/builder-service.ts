// Runs the builder: on demand, when the control plane requests it, and only with a control plane. The builder runs
// untrusted code in separate processes, which get none of its variables.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { buildExecutor } from '#core/sandbox/build-executor.ts';
import { sharedEncryptionKey } from '#core/process/generated-secrets.ts';
import { artifactVariables } from '#core/s3/bucket-variables.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process. */
const KEPT =
  /^(?:PATH|TZ|LANG|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|SSL_CERT_(?:FILE|DIR)|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|LOG_LEVEL|LOG_FORMAT|NO_COLOR|WORKER_CONCURRENCY|DISK_FREE_BYTES_MIN|HANDLER_DOMAIN|WORKER_EGRESS_ALLOW|(?:GITHOST|GIT|PUBLIC|BUILD|npm_config)_[A-Za-z_]+)$/;

/** Variables that are only passed if builds run in sandboxes. */
const OF_SANDBOXES = /^SANDBOX_(?:URL|AUTH_TOKEN|PROVIDER|NETWORK_ISOLATION)$/;

interface BuilderServiceDeps {
  readonly environment: Environment;
  /** Data folder. */
  readonly folder: string;
  /** Port of deployments. */
  readonly port: number;
  /** URL of the database's owner. */
  readonly databaseUrl: () => string;
  /** Whether the builder runs permanently, because no control plane here can request it. */
  readonly stays: boolean;
  /** Whether this supervisor also runs servers for Node. */
  readonly runsServers: boolean;
}

/** Idle time of a permanent builder, so long that it never ends. */
const NEVER_MS = 2 ** 48;

/** @throws {Error} when a build setting is invalid. */
export function builderService(given: BuilderServiceDeps): ServiceSpec {
  const { environment, folder, port, databaseUrl, stays, runsServers } = given;
  // Errors are reported at the platform's start rather than at the first build.
  const inSandboxes = buildExecutor(environment) !== null;
  const isKept = (name: string): boolean => KEPT.test(name) || (inSandboxes && OF_SANDBOXES.test(name));
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => isKept(name)));
  const artifacts = artifactVariables(environment);
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
          ...artifacts,
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

// Runs the sandbox service, if SANDBOX_PROVIDER selects a kind of machine, or PLATFORM_PARTS names the service. The
// service gets the container engine, and the part of the database that its role may see.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process; the admin key is never passed on. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|HOST|DOCKER_HOST|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|SSL_CERT_(?:FILE|DIR)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|WORKER_EGRESS_ALLOW|(?:BUILD_)?SANDBOX_[A-Z_]+|HOSTED_(?!ADMIN_)[A-Z_]+)$/;

export function runsSandboxes(environment: Environment, isPart: boolean, isChosen: boolean): boolean {
  return isPart && (isChosen || (environment['SANDBOX_PROVIDER']?.trim() ?? '') !== '');
}

/** Address of the gateway in this machine's API: used by sandboxes unless SANDBOX_AI_URL is set. */
export function apiAiUrl(environment: Environment): string | null {
  const [host = '', port = ''] = ['API_HOST', 'API_PORT'].map((name) => environment[name]?.trim());
  if (!/^[1-9][0-9]*$/.test(port)) return null;
  const isEverywhere = host === '' || host === '0.0.0.0' || host === '::' || host === 'localhost';
  return `http://${isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}/ai`;
}

/** @param databaseUrl the database URL of the role platform_sandbox. */
export function sandboxService({
  environment,
  folder,
  databaseUrl,
  aiUrl,
}: {
  readonly environment: Environment;
  /** Data folder. */
  readonly folder: string;
  readonly databaseUrl: () => string;
  /** Address of this machine's AI gateway, or null. */
  readonly aiUrl: string | null;
}): ServiceSpec {
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  // A provider's machines cannot reach this machine.
  const isHosted = own['SANDBOX_PROVIDER']?.trim() === 'hosted';
  if (aiUrl !== null && !isHosted && (own['SANDBOX_AI_URL']?.trim() ?? '') === '') own['SANDBOX_AI_URL'] = aiUrl;
  const [program, ...before] = nodeCommand();
  const script = join(
    import.meta.dirname,
    `../../../sandbox/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  );
  return {
    name: 'sandbox',
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: { ...own, FS_PATH: folder, SANDBOX_DATABASE_URL: databaseUrl() },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    // The time limit is long, because the first start copies the sandbox program to a volume.
    readyMsMax: 60_000,
    stopMsMax: 10_000,
  };
}

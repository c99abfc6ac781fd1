// Runs the database service, and determines its address for engines: a Unix socket on this machine, unless `DB_URL`
// names another one.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { replicaVariables } from '#core/s3/bucket-variables.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { machineSettings } from '../machine/settings.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables for the service, without those of other services. */
const kept = /^(?:PATH|TZ|TMPDIR|HOST|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|DB_[A-Z0-9_]+|DBCLOUD_[A-Z_]+)$/;

/** The service, and a function that passes it the URL of Postgres when Postgres is ready. */
interface DatabaseServiceSpec extends ServiceSpec {
  /** @param url the URL for the tables of bindings, where replicas get their number. */
  usePostgres(url: string): void;
}

/** The time limit is long, because the service first restores all databases into an empty folder. */
const RESTORE_MS_MAX = 3_600_000;

/**
 * The service of this machine; null if `DB_URL` names another machine's. @param sockets private folder of the
 * platform's sockets.
 */
export function databaseService(environment: Environment, folder: string, sockets: string): DatabaseServiceSpec | null {
  const replicas = replicaVariables(environment);
  const own = {
    ...Object.fromEntries(Object.entries(environment).filter(([name]) => kept.test(name))),
    ...replicas,
  };
  // Without a data folder, the service does not start, and engines report this.
  if (own['DB_URL'] || (folder === '' && !own['DB_STORAGE_DIR'])) return null;
  const env = {
    ...own,
    DB_STORAGE_DIR: own['DB_STORAGE_DIR'] || join(folder, 'databases'),
    ...(folder === '' ? {} : { FS_PATH: folder }),
    ...databaseSockets(environment, sockets),
    ...amongOthers(environment),
  };
  const [program, ...before] = nodeCommand();
  const script = join(
    import.meta.dirname,
    `../../databases/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  );
  let child: ChildProcess | null = null;
  let postgres = '';
  const tell = (): void => {
    if (postgres !== '' && child?.connected === true) child.send({ type: 'postgres', url: postgres }, () => {});
  };
  return {
    name: 'databases',
    start() {
      child = fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      return child;
    },
    onMessage: (message) => {
      if ((message as { readonly type?: unknown } | null)?.type === 'listening') tell();
    },
    usePostgres(url) {
      postgres = url;
      tell();
    },
    readyMsMax: Object.keys(replicas).length > 0 ? RESTORE_MS_MAX : 20_000,
    stopMsMax: 12_000,
  };
}

/**
 * Name and address of this machine, if other machines can also have database services, because they reach this
 * machine's port and use the same Postgres. Without a name and an address, this service has all databases.
 */
function amongOthers(environment: Environment): Record<string, string> {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const hasPostgres = get('DATABASE_URL').startsWith('postgres') || get('ENGINE_DATABASE_URL') !== '';
  if (get('DB_SERVICE_PORT') === '' || !hasPostgres) return {};
  const { name, address } = machineSettings(environment, { HOST: get('HOST') || '127.0.0.1' });
  return address === null ? {} : { MACHINE_NAME: name, MACHINE_ADDRESS: address };
}

/** Variables for engines to reach the service of this machine. */
export function databaseSockets(environment: Environment, sockets: string): Record<string, string> {
  return (environment['DB_URL'] ?? '') === '' ? { DB_SERVICE_SOCKETS: join(sockets, 'db') } : {};
}

// Runs the migrator, with `DB_MIGRATIONS_EXECUTOR=migrator`, on machines where releases are made. The migrator reads
// artifacts, writes to Postgres, and uses the database service, but gets no other secret.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { artifactVariables } from '#core/s3/bucket-variables.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|DB_[A-Z_]+|MIGRATOR_[A-Z_]+)$/;

/** @param sockets address of this machine's database service; empty if `DB_URL` names it. */
export function migratorService({
  environment,
  folder,
  sockets,
  databaseUrl,
}: {
  readonly environment: Environment;
  /** Data folder. */
  readonly folder: string;
  readonly sockets: Readonly<Record<string, string>>;
  /** URL of the database's owner. */
  readonly databaseUrl: () => string;
}): ServiceSpec {
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  const artifacts = artifactVariables(environment);
  const [program, ...before] = nodeCommand();
  const script = join(
    import.meta.dirname,
    `../../migrator/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  );
  return {
    name: 'migrator',
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: { ...own, ...artifacts, ...sockets, FS_PATH: folder, DATABASE_URL: databaseUrl() },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    readyMsMax: 30_000,
    stopMsMax: 10_000,
  };
}

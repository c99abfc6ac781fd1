// Runs the mirror, which copies routes and artifacts to this machine's folder: with `ARTIFACTS_S3_*`, if machines share
// no folder. The mirror gets the engines' account in Postgres, the key of the bucket, and the key that decrypts routes.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { nodeCommand } from '#core/process/node-command.ts';
import { artifactVariables } from '#core/s3/bucket-variables.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|ARTIFACTS_CACHE_BYTES|BUILD_ARTIFACT_MAX_[A-Z]+)$/;

/** @returns null if machines share a folder. @throws {Error} when a variable of the bucket is missing or invalid. */
export function mirrorService({
  environment,
  folder,
  databaseUrl,
  token,
}: {
  readonly environment: Environment;
  /** Data folder. */
  readonly folder: string;
  /** URL of the engines' role. */
  readonly databaseUrl: () => string;
  /** `PRIVATE_PORT_TOKEN`. */
  readonly token: () => string;
}): ServiceSpec | null {
  const artifacts = artifactVariables(environment);
  if (Object.keys(artifacts).length === 0 || folder === '') return null;
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  const [program, ...before] = nodeCommand();
  const script = join(import.meta.dirname, `../../mirror/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  return {
    name: 'mirror',
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: {
          ...own,
          ...artifacts,
          FS_PATH: folder,
          ENGINE_DATABASE_URL: databaseUrl(),
          PRIVATE_PORT_TOKEN: token(),
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    // A new machine waits at most a minute for its routes.
    readyMsMax: 90_000,
    stopMsMax: 12_000,
  };
}

// Root of the migrator's process (DB_MIGRATIONS_EXECUTOR=migrator): reads the environment, applies the migrations of
// releases to projects' databases, and records each migration. Started by the supervisor. SQL of tenants runs in the
// database service, not here.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { limitsFrom } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { createArtifactSource } from '#artifacts/artifact-source.ts';
import { openArtifactStore } from '#artifacts/store/open.ts';
import { readInstallation } from '#postgres/installation-id.ts';
import { openSql } from '#postgres/sql.ts';
import { createDatabaseClient, databaseAddress } from '../stores/database-service.ts';
import { startMigrator, type Migrator } from './migrator.ts';

/**
 * A statement takes at most half a minute (DB_STATEMENT_MS). A statement that has not finished by then ends when the
 * lease expires.
 */
const CLOSE_MS_MAX = 8000;

const log = openLog('migrator', process.env);

async function start(): Promise<() => Promise<void>> {
  const get = (name: string): string => process.env[name]?.trim() ?? '';
  const limits = limitsFrom(process.env);
  const [databaseUrl, folder] = [get('DATABASE_URL'), get('FS_PATH')];
  if (databaseUrl === '') throw new Error('DATABASE_URL is not set: name the Postgres of the platform');
  if (folder === '') throw new Error('FS_PATH is not set: name the folder that all parts share');
  const address = databaseAddress(process.env);
  if (address === null)
    throw new Error('DB_URL is not set: set it to the address of the database service, such as tcp://internal:80');
  if (get('MIGRATOR_WORK_DIR') !== '') log.warn('MIGRATOR_WORK_DIR has no effect: migrations are part of the artifact');
  const sql = openSql({
    url: databaseUrl,
    name: 'platform migrator',
    connectionsMax: 2 + limits.migrator.concurrency,
  });
  const databases = createDatabaseClient(address, limits.database);
  const store = await openArtifactStore(process.env, {
    dataFolder: folder,
    limits,
    installation: () => readInstallation(sql),
  });
  const openArtifact = createArtifactSource(folder);
  const member = `${hostname()}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const migrator: Migrator = await startMigrator({
    sql,
    log,
    databases,
    async openArtifact(id) {
      await store.fetch(id);
      return openArtifact(id);
    },
    limits: limits.migrator,
    member,
  });
  process.send?.({ type: 'ready' });
  tellFigures(() => [['platform_migrations_running', {}, migrator.running]]);
  return async () => {
    await migrator.close();
    databases.close();
    await store.close();
    await sql.end({ timeout: 1 });
  };
}

await runProcess(log, start, { closeMsMax: CLOSE_MS_MAX });

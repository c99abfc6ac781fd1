// Root of the process that manages the database: starts the embedded Postgres unless DATABASE_URL is set, migrates
// its tables, and sets up the roles of engines and the sandbox service. Started by the supervisor, which receives
// `{type: 'ready', engineUrl, ownerUrl, sandboxUrl}`; it runs no tenant code.
import { join } from 'node:path';
import { limitsFrom } from '#core/limits.ts';
import { tellFigures } from '#core/process/figures.ts';
import { logFormatFrom, logLevelFrom } from '#core/log/log-level.ts';
import { logText } from '#core/log/log-text.ts';
import { checkInstallation } from '#core/process/installation.ts';
import { runProcess, type RunningProcess } from '#core/process/run-process.ts';
import { openPostgres } from './connection.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded.ts';
import { openEngineRole } from './engine-role.ts';
import { migrate } from './migrate.ts';
import { openSandboxRole } from './sandbox-role.ts';

const get = (name: string): string => process.env[name]?.trim() ?? '';

const leastLevels = { debug: 20, info: 30, warn: 40, error: 50, silent: 60 } as const;

/** One line per event from `LOG_LEVEL` on, in the format of the other processes' logs. */
function say(level: 30 | 50, msg: string, fields: Readonly<Record<string, unknown>> = {}): void {
  if (level < leastLevels[logLevelFrom(process.env)]) return;
  const line = JSON.stringify({ level, time: Date.now(), name: 'postgres', ...fields, msg });
  const { isTTY } = process.stdout;
  process.stdout.write(
    `${logFormatFrom(process.env, isTTY) === 'json' ? line : logText(line, isTTY && get('NO_COLOR') === '')}\n`,
  );
}

async function start({ closeWith }: RunningProcess): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const given = get('DATABASE_URL');
  const starting = given === '' ? startServer(stopping.signal) : Promise.resolve(null);
  const close = async (): Promise<void> => {
    stopping.abort();
    // A start in progress ends its programs first; a migration is aborted when its server ends, and rolled back.
    const server = await starting.catch(() => null);
    await server?.stop();
  };
  closeWith(close);
  const url = (await starting)?.url ?? given;
  try {
    await prepare(url);
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}

function startServer(signal: AbortSignal): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    folder: join(get('FS_PATH'), 'postgres'),
    keepsFreeBytes: limitsFrom(process.env).diskFreeBytesMin,
    signal,
    onTrouble: (message, details) => say(50, message, details),
  });
}

/** Migrates the database, sets up its roles, and reports its addresses. */
async function prepare(url: string): Promise<void> {
  const sql = openPostgres({ url, name: 'platform migrations', connectionsMax: 2 });
  const applied = await migrate(sql);
  if (applied.length > 0) say(30, 'The database is up to date now', { applied });
  const [installation] = await sql.all<{ id: string }>('SELECT id::text FROM control.platform');
  checkInstallation(get('FS_PATH'), installation!.id);
  const engineUrl = await openEngineRole(sql, url, get('ENGINE_DATABASE_URL'));
  const given = get('SANDBOX_DATABASE_URL');
  const sandboxUrl = given === '' && get('SANDBOX_PROVIDER') === '' ? null : await openSandboxRole(sql, url, given);
  await sql.close();
  process.send?.({ type: 'ready', engineUrl, ownerUrl: url, sandboxUrl });
  tellFigures();
}

// Keeps the process alive with an external database.
setInterval(() => {}, 2 ** 30);

const log = {
  fatal: (message: string) => say(50, message),
  warn: (details: object, message: string) => say(50, message, { ...details }),
};
await runProcess(log, start, {
  // The database may be unavailable: a restart can help.
  onFailure(error) {
    log.fatal((error as Error).message);
    return 1;
  },
});

// Checks of external services: the database and its tables, the cache, the clock, buckets. Called by `platform doctor`;
// each takes a few seconds at most, and no message includes a password.
import { connect } from 'node:net';
import { schemaVersion } from '#postgres/schema-version.ts';
import { countMigrations } from '#postgres/ledger.ts';
import { findEmbeddedPostgres } from '#postgres/embedded.ts';
import path from 'node:path';
import { openSql } from '#postgres/sql.ts';
import type { Locations } from '../locations.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import { checkBuckets } from './buckets.ts';
import { checkBuildExecutor } from './builds.ts';
import { checkMigrator } from './migrator.ts';
import { checkSandboxes } from './sandboxes.ts';

const ANSWER_MS_SLOW = 250;
const CLOCK_MS_OFF = 2000;
const CONNECT_MS_MAX = 3000;

export async function checkServices(locations: Locations): Promise<Finding[]> {
  const { environment } = locations;
  const found = await Promise.all([
    checkDatabase(locations),
    checkCache(locations),
    checkDate(locations),
    checkSandboxes(environment),
    checkBuckets(environment),
  ]);
  return [...found.flat(), ...checkBuildExecutor(environment)];
}

async function checkDatabase({ postgres, folder, environment }: Locations): Promise<Finding[]> {
  if (postgres === 'none') return [ok('database', 'DATABASE_URL is "none": bindings that need Postgres are off')];
  const embedded = postgres === 'embedded' ? findEmbeddedPostgres(path.join(folder, 'postgres')) : null;
  if (postgres === 'embedded' && embedded?.isRunning !== true)
    return [
      ok('database', `The embedded Postgres is not running${embedded === null ? '; the first start creates it' : ''}`),
    ];
  const sql = openSql({
    url: embedded?.url ?? (postgres as { url: string }).url,
    name: 'platform doctor',
    connectionsMax: 1,
  });
  const advice = postgres === 'embedded' ? 'Check postgres/postgres.log in the data folder.' : 'Check DATABASE_URL.';
  try {
    await sql`SELECT 1`;
    const asked = performance.now();
    const [row] = await sql<{ at: Date; version: string }[]>`
      SELECT clock_timestamp() AS at, current_setting('server_version') AS version`;
    const ms = performance.now() - asked;
    const { at, version } = row!;
    const off = Math.abs(Date.now() - at.getTime() - ms / 2);
    const answer = `Postgres ${version} answers in ${ms.toFixed(0)} ms`;
    const count = (await countMigrations((text) => sql.unsafe(text))) ?? 0;
    const known = schemaVersion();
    return [
      ms > ANSWER_MS_SLOW
        ? warn('database', answer, 'Check the load of the database machine, and the network.')
        : ok('database', answer),
      count > known
        ? fail(
            'migrations',
            `The database has ${count} migrations, and this version has ${known}`,
            'Start the newer version, or go back with its `platform upgrade --undo`.',
          )
        : count < known
          ? warn(
              'migrations',
              `${known - count} of ${known} migrations are pending`,
              'Run `platform upgrade`: it creates a backup first.',
            )
          : ok('migrations', `All ${known} are applied`),
      off > CLOCK_MS_OFF
        ? fail(
            'clock',
            `The database's clock is ${(off / 1000).toFixed(0)} s off`,
            'Synchronize the clocks of both machines by NTP.',
          )
        : ok('clock', 'The clocks of the database and this machine agree'),
      ...(await checkMigrator(sql, environment)),
    ];
  } catch (error) {
    return [fail('database', `Postgres does not answer: ${(error as Error).message}`, advice)];
  } finally {
    await sql.end({ timeout: 1 }).catch(() => {});
  }
}

/** Checks whether the server at CACHE_URL accepts connections. */
async function checkCache({ environment }: Locations): Promise<Finding[]> {
  const text = environment['CACHE_URL']?.trim() ?? '';
  if (text === '') return [ok('cache', 'CACHE_URL is not set: Postgres keeps caches and sessions')];
  const url = URL.parse(text);
  if (url === null) return [fail('cache', 'CACHE_URL is no URL', 'Write redis://user:password@host:port.')];
  const [host, port] = [url.hostname.replace(/^\[|\]$/g, ''), Number(url.port) || 6379];
  const began = performance.now();
  const problem = await new Promise<string | null>((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS_MAX });
    const end = (what: string | null): void => {
      socket.destroy();
      resolve(what);
    };
    socket.once('connect', () => end(null));
    socket.once('timeout', () => end(`no answer in ${CONNECT_MS_MAX / 1000} s`));
    socket.once('error', ({ message }) => end(message));
  });
  return problem === null
    ? [ok('cache', `${host}:${port} takes connections, in ${(performance.now() - began).toFixed(0)} ms`)]
    : [
        fail(
          'cache',
          `${host}:${port}: ${problem}`,
          'Start the Redis server, or check CACHE_URL. Without Redis, the caches of workers are empty.',
        ),
      ];
}

/** Compares this machine's clock with the Git host's, which refuses app tokens when the clock is off. */
async function checkDate({ environment }: Locations): Promise<Finding[]> {
  const address = environment['GITHOST_API_URL']?.trim() || environment['GITHOST_URL']?.trim() || '';
  if (address === '') return [];
  try {
    const answer = await fetch(address, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(CONNECT_MS_MAX),
    });
    const off = Math.abs(Date.now() - Date.parse(answer.headers.get('date') ?? ''));
    if (!(off > 30_000)) return [];
    return [
      fail(
        'clock',
        `This machine's clock is ${(off / 1000).toFixed(0)} s off that of the Git host`,
        'Synchronize the clock by NTP.',
      ),
    ];
  } catch {
    // Reachability is a separate check.
    return [];
  }
}

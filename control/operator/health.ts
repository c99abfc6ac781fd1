// Health checks for the operator's page, in the format of `platform doctor`. Called by api/routes/operator.ts.
// Read-only; a component that does not respond is a finding, not an error.
import { statfs } from 'node:fs/promises';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { isFailure } from '#core/failure.ts';
import { fail, ok, warn, type Finding } from '#operations/doctor/finding.ts';
import { checkSandboxes } from '#operations/doctor/sandboxes.ts';
import { checkBackups, checkCertificates, checkModes } from '#operations/doctor/installation.ts';
import { readMailState } from '../records/mail.ts';
import { hostStatus } from '../git-host/host-status.ts';
import { listHosts } from '../git-host/hosts.ts';
import { missingPermissions } from '../git-host/missing-permissions.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { readHandlerStatus, type HandlerStatus } from './handler-status.ts';

const MB = 1024 ** 2;
const GB = 1024 * MB;
const DISK_BYTES_MIN = 10 * GB;
const MEMORY_SHARE_MIN = 0.05;
const ANSWER_MS_SLOW = 250;
const CLOCK_MS_OFF = 2000;
const CONNECTIONS_SHARE_MAX = 0.8;
const WAIT_S_LONG = 600;

/** All findings, grouped by component. */
export async function checkHealth(deps: Dependencies): Promise<Finding[]> {
  const checks = [
    checkDatabase,
    checkEngines,
    checkJobs,
    checkDisk,
    checkMemory,
    checkGitHosts,
    checkMail,
    checkFolder,
    checkMachines,
  ];
  const found = await Promise.all(
    checks.map(async (check) => {
      try {
        return await check(deps);
      } catch (error) {
        deps.log.warn({ err: error }, 'Health check failed');
        return [fail(nameOf(check), (error as Error).message, 'Check the log of the API process.')];
      }
    }),
  );
  return found.flat();
}

const nameOf = (check: (deps: Dependencies) => unknown): string => check.name.replace('check', '').toLowerCase();
const inGb = (bytes: number): string =>
  bytes < GB / 10 ? `${Math.round(bytes / MB)} MB` : `${(bytes / GB).toFixed(1)} GB`;

async function checkDatabase({ sql }: Dependencies): Promise<Finding[]> {
  const asked = performance.now();
  const [row] = await sql<{ at: Date; version: string; bytes: number; used: number; allowed: number }[]>`
    SELECT clock_timestamp() AS at, current_setting('server_version') AS version,
      pg_database_size(current_database()) AS bytes,
      (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
      current_setting('max_connections')::int AS allowed`;
  const ms = performance.now() - asked;
  const { at, version, bytes, used, allowed } = row!;
  const answer = `Postgres ${version} answers in ${ms.toFixed(0)} ms and holds ${inGb(bytes)}`;
  const connections = `${used} of ${allowed} connections are in use`;
  const off = Math.abs(Date.now() - at.getTime() - ms / 2);
  return [
    ms > ANSWER_MS_SLOW
      ? warn('database', answer, 'Check the load of the database machine, and the network to it.')
      : ok('database', answer),
    used > allowed * CONNECTIONS_SHARE_MAX
      ? warn('connections', connections, 'Raise max_connections of the server, or run fewer engines.')
      : ok('connections', connections),
    off > CLOCK_MS_OFF
      ? fail(
          'clock',
          `The database's clock is ${(off / 1000).toFixed(0)} s off`,
          'Synchronize the clocks of both machines by NTP.',
        )
      : ok('clock', 'The clocks of database and API agree'),
  ];
}

async function checkEngines({ privatePort }: Dependencies): Promise<Finding[]> {
  let status: HandlerStatus;
  try {
    status = await readHandlerStatus(privatePort);
  } catch (error) {
    return [
      fail(
        'engines',
        `The handler does not answer: ${(error as Error).message}`,
        'Start it. `platform machines` lists the handlers that run; API_HANDLER_URL adds others.',
      ),
    ];
  }
  const engines = status.engines ?? [];
  const serving = engines.filter(({ role, state }) => role === 'serving' && state === 'listening');
  const silent = engines.filter(({ problem }) => problem !== undefined);
  const bytes = engines.reduce((sum, engine) => sum + (engine.status?.rssBytes ?? 0), 0);
  const message = `${serving.length} of ${engines.length} engines serve, with ${inGb(bytes)} of memory`;
  if (serving.length === 0) return [fail('engines', message, 'Check the log of the handler.')];
  const quarantined = (status.quarantine ?? []).map(({ deployment, strikes }) =>
    warn(
      'quarantine',
      `Deployment ${deployment} crashed engines ${strikes} times, so it runs in one of its own`,
      'Check the logs of the deployment, and roll it back if it keeps crashing.',
    ),
  );
  return [
    silent.length > 0
      ? warn('engines', `${message}; ${silent.length} do not answer`, 'Engines that do not answer are replaced.')
      : ok('engines', message),
    ...quarantined,
    ...(status.services ?? []).map(({ name, state, restarts }) => {
      const words = `${state}${restarts === 0 ? '' : `, started ${restarts + 1} times`}`;
      return state === 'ready' || state === 'stopped'
        ? ok(name, words)
        : warn(name, words, `Check the log of the ${name}.`);
    }),
  ];
}

async function checkJobs({ sql }: Dependencies): Promise<Finding[]> {
  const rows = await sql<{ kind: string; waiting: number; running: number; longest: number | null }[]>`
    SELECT kind, count(*) FILTER (WHERE lease IS NULL OR lease_until < now())::int AS waiting,
      count(*) FILTER (WHERE lease_until >= now())::int AS running,
      extract(epoch FROM now() - min(due_at) FILTER (WHERE lease IS NULL OR lease_until < now()))::float AS longest
    FROM control.job WHERE due_at <= now() GROUP BY kind ORDER BY kind`;
  if (rows.length === 0) return [ok('builds', 'No builds or releases are waiting')];
  return rows.map(({ kind, waiting, running, longest }) => {
    const message = `${kind}s: ${running} under way, ${waiting} waiting`;
    return (longest ?? 0) > WAIT_S_LONG
      ? warn('builds', `${message}, the longest for ${Math.round(longest! / 60)} min`, 'Check the log of the builder.')
      : ok('builds', message);
  });
}

/** Based on the results of the last emails, because signing in at each check would be too much for some servers. */
async function checkMail({ mail, sql }: Dependencies): Promise<Finding[]> {
  if (!mail.isOn()) return [ok('mail', 'No mail is set up')];
  const { sent, failed, waiting } = await readMailState(sql);
  if (failed === null || failed.at <= (sent?.at ?? 0))
    return [ok('mail', waiting === 0 ? 'Emails are sent' : `Emails are sent, ${waiting} wait`)];
  const reply = failed.reply === null ? '' : `: ${failed.reply}`;
  const advice = 'Check AUTH_MAIL_URL, and send a test: `platform mail test <address>`.';
  return [warn('mail', `The last email was not sent: ${failed.error}${reply}`, advice)];
}

async function checkDisk({ folder }: Dependencies): Promise<Finding[]> {
  const { bavail, blocks, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const message = `${inGb(free)} of ${inGb(blocks * bsize)} are free where the data is`;
  const advice = 'Free disk space: lower the retention of deployments, or move FS_PATH to a larger disk.';
  if (free < GB) return [fail('disk', message, advice)];
  return [free < DISK_BYTES_MIN ? warn('disk', message, advice) : ok('disk', message)];
}

/** The data folder checks of `platform doctor`. */
function checkFolder({ folder }: Dependencies): Promise<Finding[]> {
  const now = Date.now();
  return Promise.resolve([
    checkBackups(process.env, folder, now),
    checkModes(folder),
    ...checkCertificates(process.env, folder, now),
  ]);
}

/** Virtual machines for sandboxes. */
function checkMachines(): Promise<Finding[]> {
  return checkSandboxes(process.env);
}

function checkMemory(): Promise<Finding[]> {
  const [free, all] = [freemem(), totalmem()];
  const load = `load ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`;
  const message = `${inGb(free)} of ${inGb(all)} of memory are free, ${load}`;
  return Promise.resolve([
    free < all * MEMORY_SHARE_MIN
      ? warn('memory', message, 'Builds and workers need free memory: see WORKER_ISOLATES_MAX and BUILD_CONCURRENCY.')
      : ok('memory', message),
  ]);
}

async function checkGitHosts({ git, sql }: Dependencies): Promise<Finding[]> {
  const hosts = await listHosts(sql);
  const others: Finding[] = [];
  for (const { id, name } of hosts) {
    const { problems } = await hostStatus(sql, id);
    if (problems.length === 0) others.push(ok('git host', `${name} has no known problem`));
    for (const problem of problems)
      others.push(warn('git host', `${name}: ${problem}`, 'Run `platform git-hosts check`, and see docs/git-host.md.'));
  }
  if (git.gitHost === null && hosts.length > 0) return others;
  return [...(await checkApplication(git)), ...others];
}

async function checkApplication(git: Dependencies['git']): Promise<Finding[]> {
  if (git.gitHost === null)
    return [ok('git host', 'Not configured: projects deploy with `platform deploy` and `git push`')];
  try {
    const missing = await missingPermissions(git.gitHost);
    if (missing.length === 0) return [ok('git host', 'The app has all required permissions')];
    const advice = "Grant it in the app's settings on the Git host, and accept it for each installation.";
    return missing.map(({ name, isRequired, without }) =>
      (isRequired ? fail : warn)('git host', `The app may not ${name}: ${without}`, advice),
    );
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    return [fail('git host', error.message, 'Check the GITHOST_* variables of the platform.')];
  }
}

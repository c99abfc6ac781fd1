// Backups at the times of BACKUP_CRON, and at the API's request, each in a separate process
// (operations/backup/main.ts), which logs the result. Used by main.ts; only the holder of the lock of the data
// folder's databases makes them.
import { fork, type ChildProcess } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { backupRequestFile, backupRuns, endCutOff, writeBackupPlan } from '#core/process/backup-runs.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import { nextCronTime } from '#core/schedules/cron-next.ts';
import { takeLock } from '#artifacts/file-lock.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Environment of a backup: locations of data, and no variables for serving. */
const kept =
  /^(?:PATH|TZ|TMPDIR|HOME|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|DATABASE_URL|PG[A-Z]+|ENCRYPTION_KEY|AUTH_SECRET|(?:BACKUP|DB|FILES_S3)_[A-Z0-9_]+)$/;
/** Maximum duration of a timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Interval of checking for a request: not every volume reports changes. */
const LOOK_MS = 1000;

/** The schedule of this platform. */
interface BackupSchedule {
  /** Ends a running backup, and starts no further backup. */
  stop(): void;
}

/** @throws {Error} when BACKUP_CRON is not a schedule. */
export function startBackupSchedule(environment: Environment, folder: string): BackupSchedule {
  const text = environment['BACKUP_CRON']?.trim() ?? '';
  const parsed = text === '' ? null : parseCronSchedule(text);
  if (parsed !== null && 'problem' in parsed) throw new Error(`BACKUP_CRON is not a schedule: ${parsed.problem}`);
  const schedule = parsed?.schedule ?? null;
  const target = environment['BACKUP_TARGET']?.trim() || `${join(folder, 'backups')}/`;
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => kept.test(name)));
  const [program, ...before] = nodeCommand();
  const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
  const script = join(import.meta.dirname, `../../../operations/backup/main${extension}`);
  const request = backupRequestFile(folder);
  let child: ChildProcess | null = null;
  let timer: NodeJS.Timeout | null = null;

  function wait(): void {
    const now = Date.now();
    const next = schedule === null ? null : nextCronTime(schedule, 'UTC', now);
    const nextAt = next === null ? null : new Date(next).toISOString();
    writeBackupPlan(folder, { cron: text === '' ? null : text, target, nextAt });
    if (next === null) return;
    const isFar = next - now > TIMER_MS_MAX;
    timer = setTimeout(isFar ? wait : due, Math.min(next - now, TIMER_MS_MAX)).unref();
  }

  function due(): void {
    wait();
    begin();
  }

  function begin(): void {
    // One backup at a time: a scheduled time during a running backup is skipped.
    if (child !== null) return;
    child = fork(script, {
      execPath: program,
      execArgv: [...before, '--disable-warning=ExperimentalWarning'],
      env: { ...env, FS_PATH: folder },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.on('error', ended);
    child.on('exit', ended);
  }

  function ended(): void {
    child = null;
    noteCutOff(folder);
  }

  function look(): void {
    if (!existsSync(request)) return;
    rmSync(request, { force: true });
    begin();
  }

  noteCutOff(folder);
  wait();
  rmSync(request, { force: true });
  // The file is polled here, because `watchFile` does not report changes before its first check.
  const looking = setInterval(look, LOOK_MS).unref();
  return {
    stop() {
      clearInterval(looking);
      if (timer !== null) clearTimeout(timer);
      child?.kill('SIGTERM');
    },
  };
}

/** The process of a killed backup has reported no result. A backup that a command started may be running. */
function noteCutOff(folder: string): void {
  if (backupRuns(folder).every(({ endedAt }) => endedAt !== null)) return;
  const lock = takeLock(join(folder, 'locks', 'backup'));
  if (lock === null) return;
  endCutOff(folder);
  lock.release();
}

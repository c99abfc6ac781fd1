// Backups at the times of BACKUP_CRON, and when the API asks for one, each by a process of its own
// (operations/backup/main.ts), which says in the log how it went. Used by main.ts; whoever holds the lock of the data
// folder's databases does it, and nobody else.
import { fork, type ChildProcess } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { backupRequestFile, backupRuns, endCutOff, writeBackupPlan } from '#core/process/backup-runs.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import { nextCronTime } from '#core/schedules/cron-next.ts';
import { takeLock } from '#artifacts/file-lock.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a backup gets of the operator's environment: where data is, and nothing of what serves. */
const kept =
  /^(?:PATH|TZ|TMPDIR|HOME|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|DATABASE_URL|PG[A-Z]+|ENCRYPTION_KEY|AUTH_SECRET|(?:BACKUP|DB|FILES_S3)_[A-Z0-9_]+)$/;
/** Longest that a timer may be set for. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Between looks at whether somebody asks for one: not every volume tells of changes. */
const LOOK_MS = 1000;

/** The schedule of this platform. */
export interface BackupSchedule {
  /** Ends a backup that is under way, and begins no other. */
  stop(): void;
}

/** @throws {Error} when BACKUP_CRON is no schedule. */
export function startBackupSchedule(environment: Environment, folder: string): BackupSchedule {
  const text = environment['BACKUP_CRON']?.trim() ?? '';
  const parsed = text === '' ? null : parseCronSchedule(text);
  if (parsed !== null && 'problem' in parsed) throw new Error(`BACKUP_CRON is no schedule: ${parsed.problem}`);
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
    // One at a time: a time that comes while one is under way is passed over.
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
  // By a look of our own: `watchFile` tells of nothing that came before its first one.
  const looking = setInterval(look, LOOK_MS).unref();
  return {
    stop() {
      clearInterval(looking);
      if (timer !== null) clearTimeout(timer);
      child?.kill('SIGTERM');
    },
  };
}

/** A backup that was killed has said nothing; one that a command makes is under way. */
function noteCutOff(folder: string): void {
  if (backupRuns(folder).every(({ endedAt }) => endedAt !== null)) return;
  const lock = takeLock(join(folder, 'locks', 'backup'));
  if (lock === null) return;
  endCutOff(folder);
  lock.release();
}

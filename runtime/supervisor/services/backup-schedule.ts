// Backups at the times of BACKUP_CRON, each by a process of its own (operations/backup/main.ts), which says in the log
// how it went. Used by main.ts.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { nodeCommand } from '#core/process/node-command.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import { nextCronTime } from '#core/schedules/cron-next.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a backup gets of the operator's environment: where data is, and nothing of what serves. */
const kept =
  /^(?:PATH|TZ|TMPDIR|HOME|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|LOG_LEVEL|LOG_FORMAT|NO_COLOR|DATABASE_URL|PG[A-Z]+|ENCRYPTION_KEY|AUTH_SECRET|(?:BACKUP|DB|FILES_S3)_[A-Z0-9_]+)$/;
/** Longest that a timer may be set for. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The schedule of this platform. */
export interface BackupSchedule {
  /** Ends a backup that is under way, and begins no other. */
  stop(): void;
}

/** @returns null where no schedule is set. @throws {Error} when BACKUP_CRON is none. */
export function startBackupSchedule(environment: Environment, folder: string): BackupSchedule | null {
  const text = environment['BACKUP_CRON']?.trim() ?? '';
  if (text === '' || folder === '') return null;
  const parsed = parseCronSchedule(text);
  if ('problem' in parsed) throw new Error(`BACKUP_CRON is no schedule: ${parsed.problem}`);
  const { schedule } = parsed;
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => kept.test(name)));
  const [program, ...before] = nodeCommand();
  const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
  const script = join(import.meta.dirname, `../../../operations/backup/main${extension}`);
  let child: ChildProcess | null = null;
  let timer: NodeJS.Timeout | null = null;

  function wait(): void {
    const now = Date.now();
    const next = nextCronTime(schedule, 'UTC', now);
    if (next === null) return;
    const isFar = next - now > TIMER_MS_MAX;
    timer = setTimeout(isFar ? wait : begin, Math.min(next - now, TIMER_MS_MAX)).unref();
  }

  function begin(): void {
    wait();
    // One at a time: a time that comes while one is under way is passed over.
    if (child !== null) return;
    child = fork(script, {
      execPath: program,
      execArgv: [...before, '--disable-warning=ExperimentalWarning'],
      env: { ...env, FS_PATH: folder },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.on('error', () => (child = null));
    child.on('exit', () => (child = null));
  }

  wait();
  return {
    stop() {
      if (timer !== null) clearTimeout(timer);
      child?.kill('SIGTERM');
    },
  };
}

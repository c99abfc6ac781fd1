// The backups of a data folder: the result of each (`backups.json`), when the next is due (`backup-schedule.json`), and
// a request to start one now (`backup-requested.json`). Written by operations/backup/, by the supervisor's schedule,
// and by the API (the request); read by checks, metrics and the API.
import { join } from 'node:path';
import { readJson, writeWhole } from './platform-record.ts';

/** One backup. */
interface BackupRun {
  /** ISO 8601. */
  readonly startedAt: string;
  /** Time of the end; null if the backup is running, or was interrupted. */
  readonly endedAt: string | null;
  readonly location: string | null;
  /** Size of the backed up data. */
  readonly bytes: number;
  /** Bytes that were written for the backup. */
  readonly writtenBytes: number;
  /** Error of the backup; null if it succeeded, or is running. */
  readonly error: string | null;
  /** Whether newer backups have replaced the backup. */
  readonly isRemoved: boolean;
}

/** Schedule and destination of backups. */
interface BackupPlan {
  /** Null means that backups are only made on request. */
  readonly cron: string | null;
  readonly target: string;
  readonly nextAt: string | null;
}

/** Number of recorded runs. */
const RUNS_MAX = 50;
const RUNS = 'backups.json';
const PLAN = 'backup-schedule.json';
const REQUEST = 'backup-requested.json';
const CUT_OFF = 'It was interrupted';

/** Newest first. */
export function backupRuns(folder: string): readonly BackupRun[] {
  const found = readJson(join(folder, RUNS)) as { runs?: unknown } | null;
  return Array.isArray(found?.runs) ? (found.runs as BackupRun[]) : [];
}

/**
 * Records the start of a backup. Call this function with the backup lock held: earlier unfinished runs count as
 * interrupted.
 */
export function beginRun(folder: string): BackupRun {
  const run: BackupRun = {
    startedAt: new Date().toISOString(),
    endedAt: null,
    location: null,
    bytes: 0,
    writtenBytes: 0,
    error: null,
    isRemoved: false,
  };
  write(folder, [run, ...cutOff(backupRuns(folder))]);
  return run;
}

/** Records its result. @param removed names of deleted backups. */
export function endRun(
  folder: string,
  { startedAt }: BackupRun,
  how: Partial<Pick<BackupRun, 'location' | 'bytes' | 'writtenBytes' | 'error'>>,
  removed: readonly string[] = [],
): void {
  const gone = (location: string | null): boolean => removed.some((name) => location?.endsWith(`/${name}`) === true);
  write(
    folder,
    backupRuns(folder).map((run) => ({
      ...run,
      ...(run.startedAt === startedAt && run.endedAt === null && { endedAt: new Date().toISOString(), ...how }),
      isRemoved: run.isRemoved || gone(run.location),
    })),
  );
}

/** Marks unfinished backups as interrupted. Call this function when no backup is running. */
export function endCutOff(folder: string): void {
  const runs = backupRuns(folder);
  if (runs.some(({ endedAt }) => endedAt === null)) write(folder, cutOff(runs));
}

/** The last finished run, and the time of the last successful one; null if there was none. */
export function lastBackup(folder: string): { readonly run: BackupRun; readonly goodAt: string | null } | null {
  const ended = backupRuns(folder).filter(({ endedAt }) => endedAt !== null);
  const [run] = ended;
  if (run === undefined) return null;
  return { run, goodAt: ended.find(({ error }) => error === null)?.endedAt ?? null };
}

/** Null means that no process of this data folder makes backups. */
export function backupPlan(folder: string): BackupPlan | null {
  const found = readJson(join(folder, PLAN)) as BackupPlan | null;
  return typeof found?.target === 'string' ? found : null;
}

export function writeBackupPlan(folder: string, plan: BackupPlan): void {
  writeWhole(join(folder, PLAN), plan);
}

/** The file that requests a backup: the scheduler watches it. */
export function backupRequestFile(folder: string): string {
  return join(folder, REQUEST);
}

export function requestBackup(folder: string): void {
  writeWhole(backupRequestFile(folder), { at: new Date().toISOString() });
}

function cutOff(runs: readonly BackupRun[]): BackupRun[] {
  const endedAt = new Date().toISOString();
  return runs.map((run) => (run.endedAt === null ? { ...run, endedAt, error: CUT_OFF } : run));
}

function write(folder: string, runs: readonly BackupRun[]): void {
  try {
    writeWhole(join(folder, RUNS), { runs: keptOf(runs) });
  } catch {
    // This fails if the folder is full, but the backup's own error is more useful.
  }
}

/** The last successful backup is kept in the list, even after many failures. */
function keptOf(runs: readonly BackupRun[]): readonly BackupRun[] {
  const good = runs.findIndex(({ error, endedAt }) => error === null && endedAt !== null);
  return good < RUNS_MAX ? runs.slice(0, RUNS_MAX) : [...runs.slice(0, RUNS_MAX - 1), runs[good]!];
}

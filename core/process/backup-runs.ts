// The backups of a data folder: how each went (`backups.json`), when the next is due (`backup-schedule.json`), and that
// somebody wants one now (`backup-requested.json`). Written by operations/backup/, by the schedule of the supervisor,
// and by the API for the last; read by checks, metrics and the API.
import { join } from 'node:path';
import { readJson, writeWhole } from './platform-record.ts';

/** One backup that was begun. */
export interface BackupRun {
  /** ISO 8601. */
  readonly startedAt: string;
  /** Null: it is under way, or was cut off. */
  readonly endedAt: string | null;
  readonly location: string | null;
  /** Of what was backed up. */
  readonly bytes: number;
  /** What was written for it. */
  readonly writtenBytes: number;
  /** Null: it was made, or is under way. */
  readonly error: string | null;
  /** Newer ones have taken its place. */
  readonly isRemoved: boolean;
}

/** When backups are made, and where they go. */
export interface BackupPlan {
  /** Null: only when somebody asks. */
  readonly cron: string | null;
  readonly target: string;
  readonly nextAt: string | null;
}

/** Runs that are remembered. */
const RUNS_MAX = 50;
const RUNS = 'backups.json';
const PLAN = 'backup-schedule.json';
const REQUEST = 'backup-requested.json';
const CUT_OFF = 'It was cut off';

/** The newest first. */
export function backupRuns(folder: string): readonly BackupRun[] {
  const found = readJson(join(folder, RUNS)) as { runs?: unknown } | null;
  return Array.isArray(found?.runs) ? (found.runs as BackupRun[]) : [];
}

/** Notes that one begins. To be called with the lock of backups: whatever has not ended before was cut off. */
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

/** Notes how it went. @param removed names of backups that are gone. */
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

/** Notes that what has not ended was cut off. To be called when no backup is under way. */
export function endCutOff(folder: string): void {
  const runs = backupRuns(folder);
  if (runs.some(({ endedAt }) => endedAt === null)) write(folder, cutOff(runs));
}

/** The last that ended, and when the last good one did; null: none was ever made. */
export function lastBackup(folder: string): { readonly run: BackupRun; readonly goodAt: string | null } | null {
  const ended = backupRuns(folder).filter(({ endedAt }) => endedAt !== null);
  const [run] = ended;
  if (run === undefined) return null;
  return { run, goodAt: ended.find(({ error }) => error === null)?.endedAt ?? null };
}

/** Null: nothing that runs on the folder makes backups. */
export function backupPlan(folder: string): BackupPlan | null {
  const found = readJson(join(folder, PLAN)) as BackupPlan | null;
  return typeof found?.target === 'string' ? found : null;
}

export function writeBackupPlan(folder: string, plan: BackupPlan): void {
  writeWhole(join(folder, PLAN), plan);
}

/** The file that asks for a backup: who makes them watches it. */
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
    // The backup's own error says more: the folder is full.
  }
}

/** The last good one stays, however many have failed since. */
function keptOf(runs: readonly BackupRun[]): readonly BackupRun[] {
  const good = runs.findIndex(({ error, endedAt }) => error === null && endedAt !== null);
  return good < RUNS_MAX ? runs.slice(0, RUNS_MAX) : [...runs.slice(0, RUNS_MAX - 1), runs[good]!];
}

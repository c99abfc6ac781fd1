// This platform's record for the commands of its user on this machine: its addresses, its data folder, and a token
// for its private port. Written by main.ts to the file that `platform start` names (PLATFORM_LOCAL_RECORD); readable
// only by that user.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A platform running on this machine; read by cli/local/local-platform.ts. */
interface LocalRecord {
  readonly version: 1;
  /** Data folder, absolute. */
  readonly folder: string;
  /** Process id of the supervisor. */
  readonly pid: number;
  readonly port: number;
  /** First of the platform's domains. */
  readonly domain: string;
  /** Origin of the private port; null if it is off. */
  readonly privateOrigin: string | null;
  /** Origin of the management API; absent without a control plane. */
  readonly apiOrigin?: string;
  /** Token of the first admin; null if it was revoked or removed. */
  readonly apiToken?: string | null;
  /** Token for the private port. */
  readonly token: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** The record of a running platform. */
interface OwnRecord {
  /** Writes the record for the first time. */
  leave(): void;
  /** Writes the record again, if it was written. */
  refresh(): void;
  /** Removes the record, and does not write it any more. */
  remove(): void;
}

/**
 * @param file path of the record; '' means that no record is written.
 * @param describe the current content of the record, without its version and process.
 * @param onProblem gets the reason when the record cannot be written.
 */
export function openOwnRecord(
  file: string,
  describe: () => Omit<LocalRecord, 'version' | 'pid'>,
  onProblem: (message: string) => void,
): OwnRecord {
  let state: 'absent' | 'written' | 'removed' = file === '' ? 'removed' : 'absent';
  const write = (): void => {
    state = 'written';
    try {
      writeRecord(file, { version: 1, pid: process.pid, ...describe() });
    } catch (error) {
      onProblem((error as Error).message);
    }
  };
  return {
    leave() {
      if (state === 'absent') write();
    },
    refresh() {
      if (state === 'written') write();
    },
    remove() {
      state = 'removed';
      if (file !== '') removeRecord(file);
    },
  };
}

/** Writes it atomically. */
function writeRecord(file: string, record: LocalRecord): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  chmodSync(beside, 0o600);
  renameSync(beside, file);
}

/** Removes the record, unless another platform has written it since. */
function removeRecord(file: string): void {
  try {
    const { pid } = JSON.parse(readFileSync(file, 'utf8')) as LocalRecord;
    if (pid === process.pid) rmSync(file);
  } catch {
    // Already gone.
  }
}

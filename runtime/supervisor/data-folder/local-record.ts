// What this platform leaves for the commands of its user on this machine: where it listens, where its data lies, and a
// token for its private port. Written by main.ts into the file that `platform start` names (PLATFORM_LOCAL_RECORD);
// only that user may read it.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A platform that runs on this machine; cli/local/local-platform.ts reads it. */
interface LocalRecord {
  readonly version: 1;
  /** Data folder, absolute. */
  readonly folder: string;
  /** Of the supervisor. */
  readonly pid: number;
  readonly port: number;
  /** First of the platform's domains. */
  readonly domain: string;
  /** Origin of the private port; null where it is off. */
  readonly privateOrigin: string | null;
  /** Origin of the management API; absent where there is no control plane. */
  readonly apiOrigin?: string;
  /** Token of the first admin; null: it was revoked or taken away. */
  readonly apiToken?: string | null;
  /** For the private port. */
  readonly token: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Writes it whole or not at all. */
export function writeLocalRecord(file: string, record: LocalRecord): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  chmodSync(beside, 0o600);
  renameSync(beside, file);
}

/** Takes it away, unless another platform has written it since. */
export function removeLocalRecord(file: string): void {
  try {
    const { pid } = JSON.parse(readFileSync(file, 'utf8')) as LocalRecord;
    if (pid === process.pid) rmSync(file);
  } catch {
    // Gone already.
  }
}

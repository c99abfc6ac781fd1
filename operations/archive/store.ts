// Where a backup is written to, and read from: one file (archive-file.ts) or a bucket (archive-bucket.ts). Types alone.
import type { BackupHeader } from './manifest.ts';

/** Takes the contents of one backup. */
export interface BackupSink {
  /** It has this content already. */
  has(id: string): boolean;
  put(id: string, encoded: Uint8Array): Promise<void>;
  /** Ends it with its manifest: from now on it is a backup. @returns where it is, and what was written. */
  finish(id: string, encoded: Uint8Array): Promise<{ readonly location: string; readonly bytes: number }>;
  /** Leaves nothing that looks like a backup. */
  abort(): Promise<void>;
}

/** A backup that is there. */
export interface BackupSource {
  readonly location: string;
  readonly header: BackupHeader;
  /** Name of the manifest, which is a content as others are. */
  readonly manifestId: string;
  has(id: string): boolean;
  /** A content in its encoded form. @throws {BackupError} `damaged` where it is not there. */
  read(id: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

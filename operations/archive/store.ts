// Storage of backups: one file (archive-file.ts) or a bucket (archive-bucket.ts). Types only.
import type { BackupHeader } from './manifest.ts';

/** Writes the contents of one backup. */
export interface BackupSink {
  /** Whether this content is already stored. */
  has(id: string): boolean;
  put(id: string, encoded: Uint8Array): Promise<void>;
  /**
   * Completes the backup by writing its manifest. @returns the location of the backup, and how many bytes were written.
   */
  finish(id: string, encoded: Uint8Array): Promise<{ readonly location: string; readonly bytes: number }>;
  /** Discards the backup. */
  abort(): Promise<void>;
}

/** An existing backup. */
export interface BackupSource {
  readonly location: string;
  readonly header: BackupHeader;
  /** Name of the manifest, which is stored like any content. */
  readonly manifestId: string;
  has(id: string): boolean;
  /** A content in its encoded form. @throws {Failure} `backup`: `damaged` when the content is missing. */
  read(id: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

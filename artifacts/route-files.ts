// Where the API writes the files of `routes/`: a folder that handlers read (routes-disk.ts), or Postgres, from which
// runtime/mirror/ copies them to the folder of each machine (routes-postgres.ts). Drivers: control/releases/routes/.
import type { RouteRecord } from '#core/manifest.ts';
import type { StorageLeft } from '#core/storage-left.ts';

/** The files of `routes/`. */
export interface RouteFiles {
  /** SHA-256 of a project's record in hex, as engines report it, or ''. */
  hashOf(project: string): Promise<string>;
  /** Names of the projects whose stored record differs from the given record. */
  outdated(records: readonly RouteRecord[]): Promise<ReadonlySet<string>>;
  /** Replaces a project's record; an identical record is not written. */
  replace(record: RouteRecord): Promise<void>;
  /** Deletes a project's record. */
  remove(project: string): Promise<void>;
  /** Publishes the remaining storage of organizations. */
  leaveStorage(left: StorageLeft): Promise<void>;
  /**
   * A record from before the control plane, written by a command on this machine.
   *
   * @throws {Error} if the record cannot be read.
   */
  unmanaged(project: string): Promise<RouteRecord | null>;
}

// Where the API writes the files of `routes/`: a folder that handlers read (routes-disk.ts), or Postgres, from where
// runtime/mirror/ brings them to the folder of each machine (routes-postgres.ts). Drivers: control/releases/routes/.
import type { RouteRecord } from '#core/manifest.ts';
import type { StorageLeft } from '#core/storage-left.ts';

/** The files of `routes/`. */
export interface RouteFiles {
  /** SHA-256 of a project's record in hex, as engines report it; '' without one. */
  hashOf(project: string): Promise<string>;
  /** Names of the projects whose stored record is another one than given. */
  outdated(records: readonly RouteRecord[]): Promise<ReadonlySet<string>>;
  /** Replaces a project's record; an identical one is not written. */
  replace(record: RouteRecord): Promise<void>;
  /** Deletes a project's record. */
  remove(project: string): Promise<void>;
  /** Publishes what organizations may still store. */
  leaveStorage(left: StorageLeft): Promise<void>;
  /**
   * A record that nothing but a command on this machine wrote, from before the control plane.
   *
   * @throws {Error} if it cannot be read.
   */
  unmanaged(project: string): Promise<RouteRecord | null>;
}

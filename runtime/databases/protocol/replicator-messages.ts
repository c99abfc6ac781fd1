// The messages between the database service and its replicator. Contains only types.
import type { DatabaseLimits } from '#core/limits.ts';
import type { Moment } from './lease-clock.ts';

/** The argument, as JSON. */
export interface ReplicatorOptions {
  readonly directory: string;
  /** Folder with the organizations' remaining storage; null means no limit. */
  readonly dataFolder: string | null;
  readonly limits: DatabaseLimits;
  /** Whether other services of the installation store their projects in the same bucket. */
  readonly isShared: boolean;
}

/** Messages from the parent process; those with an id are answered. */
export type ReplicatorRequest =
  | { readonly type: 'changed'; readonly name: string }
  | { readonly type: 'postgres'; readonly url: string }
  | {
      readonly type: 'restore';
      readonly id: number;
      readonly name: string;
      readonly at: number;
      readonly target: string;
    }
  | { readonly type: 'range'; readonly id: number; readonly name: string }
  /** Restores missing databases, of one project or of all. */
  | { readonly type: 'fill'; readonly id: number; readonly project: string | null }
  /** The projects that the replicator may store, with their home numbers, and until when; null means all. */
  | {
      readonly type: 'homes';
      readonly until: Moment | null;
      /** Absent: as before. */
      readonly homes?: readonly (readonly [project: string, fence: number])[] | null;
    }
  /** The service is now the home of a project; `fence` null means that it no longer is. */
  | { readonly type: 'home'; readonly project: string; readonly fence: number | null }
  /** Stores all committed changes of a database now. */
  | { readonly type: 'confirm'; readonly id: number; readonly name: string }
  /** Stores the changes of a project and closes its files. */
  | { readonly type: 'leave'; readonly id: number; readonly project: string }
  | { readonly type: 'finish'; readonly id: number };

/** Messages of the replicator to its parent. */
export type ReplicatorMessage =
  | { readonly type: 'report'; readonly message: string }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string; readonly isRefusal: boolean }
  | ({ readonly type: 'figures' } & ReplicaFigures);

/** How replication goes. */
export interface ReplicaFigures {
  /** Age of the oldest change that is not stored yet; 0 if all changes are stored. */
  readonly lagMs: number;
  readonly waiting: number;
  readonly bytes: number;
  /** Why replication is stopped; null if it is running. */
  readonly problem: string | null;
}

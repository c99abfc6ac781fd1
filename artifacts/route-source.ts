// Source of route records: a snapshot, and notifications of changes.
import type { RouteRecord } from '#core/manifest.ts';

/** A new or changed record, or null for a deleted one. */
export interface RouteRecordChange {
  readonly project: string;
  readonly record: RouteRecord | null;
}

/** A source of route records. */
export interface RouteSource {
  /** All current records, sorted by project name. */
  readonly routes: readonly RouteRecord[];
  /** SHA-256 of a project's record as received, in hex; null if there is none. */
  hashOf(project: string): string | null;
  /** Calls back after every change of `routes`, with all changes. */
  onChange(listener: (changes: readonly RouteRecordChange[]) => void): void;
  close(): void;
}

/** An invalid record; the last valid version is still used. */
export interface RouteProblem {
  readonly file: string;
  readonly reason: string;
}

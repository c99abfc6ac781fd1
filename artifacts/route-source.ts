// Where route records come from: a snapshot, and a word of what changes in it.
import type { RouteRecord } from '#core/manifest.ts';

/** A record that came, changed or, where it is null, is gone. */
export interface RouteRecordChange {
  readonly project: string;
  readonly record: RouteRecord | null;
}

/** A source of route records. */
export interface RouteSource {
  /** All records, as of now, by the names of their projects. */
  readonly routes: readonly RouteRecord[];
  /** SHA-256 of the record of a project as it came, in hex; null where there is none. */
  hashOf(project: string): string | null;
  /** Calls back after every change of `routes`, with all that changed. */
  onChange(listener: (changes: readonly RouteRecordChange[]) => void): void;
  close(): void;
}

/** A record that cannot be used; its last good version stays. */
export interface RouteProblem {
  readonly file: string;
  readonly reason: string;
}

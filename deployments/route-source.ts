// Where route records come from: a snapshot, and a word when it changes.
import type { RouteRecord } from '#core/manifest.ts';

/** A source of route records. */
export interface RouteSource {
  /** All records, as of now. */
  readonly routes: readonly RouteRecord[];
  /** SHA-256 of the record of a project as it came, in hex; null where there is none. */
  hashOf(project: string): string | null;
  /** Calls back after every change of `routes`. */
  onChange(listener: () => void): void;
  close(): void;
}

/** A record that cannot be used; its last good version stays. */
export interface RouteProblem {
  readonly file: string;
  readonly reason: string;
}

// What homes need of the service around them, and their times. Loads nothing.
import type { HomeRow } from '../../stores/database-homes-postgres.ts';
import type { Moment } from '../protocol/lease-clock.ts';
import type { ShardRequest } from '../protocol/shard-messages.ts';

/** Times of leases, in milliseconds. */
interface HomeTimes {
  readonly renewMs: number;
  /** How long a service serves after the beginning of a renewal that succeeded. */
  readonly validMs: number;
  /** How long others see no renewal before they take over; longer, by more than clocks can run apart. */
  readonly lostMs: number;
}

/** @param leaseMs `DB_LEASE_MS` */
export function homeTimes(leaseMs: number): HomeTimes {
  return { renewMs: leaseMs / 8, validMs: leaseMs, lostMs: 1.25 * leaseMs };
}

/** This service among others. */
export interface HomesOptions {
  /** Name of its machine. */
  readonly machine: string;
  /** Host by which others reach it. */
  readonly address: string;
  readonly version: string;
  readonly times: HomeTimes;
}

/** A project that is here. */
export interface OwnHome {
  row: HomeRow;
  /** Settles when its databases are there. */
  readonly ready: Promise<void>;
}

/** The replicator of a service. */
export interface ReplicationOfHomes {
  /** What it may store until when. @param homes projects with their numbers; null: all; absent: as before. */
  mayStore(until: Moment | null, homes?: readonly (readonly [project: string, fence: number])[] | null): void;
  setHome(project: string, fence: number | null): void;
  leave(project: string): Promise<void>;
  fill(): Promise<void>;
  fillProject(project: string): Promise<number>;
  markFilled(): void;
}

/** The processes of a service. */
export interface ShardsOfHomes {
  tell(request: ShardRequest): void;
  /** Lets requests of a project wait in all of them; ends one that does not answer. @returns why not; null: done. */
  hold(project: string, msMax: number): Promise<string | null>;
  /** An import of the project runs. */
  isImporting(project: string): boolean;
  endImports(why: string): void;
}

// Dependencies of homes, and their timeouts. Loads nothing.
import type { HomeRow } from '../../stores/database-homes-postgres.ts';
import type { Moment } from '../protocol/lease-clock.ts';
import type { ShardRequest } from '../protocol/shard-messages.ts';

/** Times of leases, in milliseconds. */
interface HomeTimes {
  readonly renewMs: number;
  /** How long a service may serve after the start of a successful renewal. */
  readonly validMs: number;
  /**
   * How long other services wait without a renewal before they take over; longer than the lease by more than clocks can
   * drift.
   */
  readonly lostMs: number;
}

/** @param leaseMs `DB_LEASE_MS` */
export function homeTimes(leaseMs: number): HomeTimes {
  return { renewMs: leaseMs / 8, validMs: leaseMs, lostMs: 1.25 * leaseMs };
}

/** Identity of this service among others. */
export interface HomesOptions {
  /** Name of the machine. */
  readonly machine: string;
  /** Host by which other machines reach this machine. */
  readonly address: string;
  readonly version: string;
  readonly times: HomeTimes;
}

/** A project whose home is this service. */
export interface OwnHome {
  row: HomeRow;
  /** Settles when the databases of the project are available. */
  readonly ready: Promise<void>;
}

/** The replicator of a service. */
export interface ReplicationOfHomes {
  /**
   * Sets which projects the replicator may store, and until when. @param homes projects with their numbers; null means
   * all, and without it, the projects are unchanged.
   */
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
  /**
   * Holds the requests of a project in all processes; kills a process that does not answer. @returns why the project
   * was not moved; null if it was moved.
   */
  hold(project: string, msMax: number): Promise<string | null>;
  /** Whether an import of the project is running. */
  isImporting(project: string): boolean;
  endImports(why: string): void;
}

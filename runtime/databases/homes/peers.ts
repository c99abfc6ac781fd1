// The other database services, as seen by this service: which of them are lost, and which have room. A service is lost
// if its counter of renewals has not changed for a time that is measured here, so differences between the machines'
// clocks do not matter. Pure except for its clock.
import type { ServiceRow } from '../../stores/database-homes-postgres.ts';

interface Peer {
  readonly row: ServiceRow;
  /** The latest time at which the counter can have changed last. */
  readonly since: number;
}

export class Peers {
  readonly #lostMs: number;
  readonly #now: () => number;
  #own: ServiceRow | null = null;
  #peers = new Map<string, Peer>();

  constructor(lostMs: number, now: () => number) {
    this.#lostMs = lostMs;
    this.#now = now;
  }

  /** Called each time the table was read. */
  see(rows: readonly ServiceRow[], ownId: string): void {
    const now = this.#now();
    this.#own = rows.find(({ id }) => id === ownId) ?? null;
    this.#peers = new Map(
      rows
        .filter(({ id }) => id !== ownId)
        .map((row) => {
          const before = this.#peers.get(row.id);
          return [row.id, { row, since: before?.row.renewals === row.renewals ? before.since : now }];
        }),
    );
  }

  /** This service. */
  get own(): ServiceRow | null {
    return this.#own;
  }

  get all(): ServiceRow[] {
    return [...this.#peers.values()].map(({ row }) => row);
  }

  find(id: string): ServiceRow | undefined {
    return this.#peers.get(id)?.row;
  }

  isLost(id: string): boolean {
    const peer = this.#peers.get(id);
    return peer !== undefined && this.#now() - peer.since > this.#lostMs;
  }

  /** The running service of a machine. */
  onMachine(machine: string): ServiceRow | undefined {
    return this.all.find((row) => row.machine === machine && !row.isDraining && !this.isLost(row.id));
  }

  /** The new home of a project: this service, unless it has no room. Null: nowhere. */
  roomiest(bytesMin: number, prefersOwn: boolean): ServiceRow | null {
    const hasRoom = (row: ServiceRow): boolean => !row.isDraining && row.diskFreeBytes > bytesMin;
    if (prefersOwn && this.#own !== null && hasRoom(this.#own)) return this.#own;
    const others = this.all.filter((row) => hasRoom(row) && !this.isLost(row.id));
    return others.toSorted((one, other) => other.diskFreeBytes - one.diskFreeBytes)[0] ?? null;
  }
}

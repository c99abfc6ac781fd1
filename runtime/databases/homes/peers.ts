// The other database services, as this one sees them: which are lost, and which has room. A service is lost when its
// counter of renewals stood still for a time that is measured here, so clocks of the day do not matter. Pure but for
// its clock.
import type { ServiceRow } from '../../stores/database-homes-postgres.ts';

interface Peer {
  readonly row: ServiceRow;
  /** Since when its counter is what it is, at the latest. */
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

  /** Called after each reading of the table. */
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

  /** A machine's service that serves. */
  onMachine(machine: string): ServiceRow | undefined {
    return this.all.find((row) => row.machine === machine && !row.isDraining && !this.isLost(row.id));
  }

  /** Where a project goes: here, unless there is no room. Null: nowhere. */
  roomiest(bytesMin: number, prefersOwn: boolean): ServiceRow | null {
    const hasRoom = (row: ServiceRow): boolean => !row.isDraining && row.diskFreeBytes > bytesMin;
    if (prefersOwn && this.#own !== null && hasRoom(this.#own)) return this.#own;
    const others = this.all.filter((row) => hasRoom(row) && !this.isLost(row.id));
    return others.toSorted((one, other) => other.diskFreeBytes - one.diskFreeBytes)[0] ?? null;
  }
}

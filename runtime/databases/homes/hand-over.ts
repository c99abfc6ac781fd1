// Moves projects away from this service: projects that an operator moves, and all projects when its machine drains.
// Called by homes.ts; moves.ts moves the files of the projects.
import type { HomeRow, HomesTable, ServiceRow } from '../../stores/database-homes-postgres.ts';
import type { HomesOptions, OwnHome } from './homes-options.ts';
import type { Lease } from './lease.ts';
import type { Decided, Moves } from './moves.ts';
import { reasonOf } from './unavailable.ts';

interface HandOverDeps extends Pick<HomesOptions, 'machine' | 'address'> {
  readonly diskFreeBytesMin: number;
  readonly lease: Lease;
  readonly moves: Moves;
  /** Projects whose home is this service. */
  readonly own: Map<string, OwnHome>;
  /** Moves a project whose home may be another service. */
  move(name: string, to: unknown): Promise<unknown>;
  report(message: string): void;
}

/** How often to check whether a move was decided. */
const ASK_MS = 50;

export class HandOver {
  readonly #deps: HandOverDeps;

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
  }

  /** Moves requested by an operator. */
  async moveWanted(table: HomesTable): Promise<void> {
    const { moves, move, lease } = this.#deps;
    if (moves.isBusy) return;
    const { id } = lease;
    for (const { project, to } of await table.wanted(id))
      try {
        await move(`${project}/any`, to);
        // The row of a moved project belongs to another service.
        await table.settleMove(project, id, null);
      } catch (error) {
        await table.settleMove(project, id, reasonOf(error));
      }
  }

  /** Moves all projects to the services with the most room. */
  async drain(): Promise<void> {
    const { moves, own, lease, diskFreeBytesMin, report } = this.#deps;
    if (moves.isBusy) return;
    for (const project of own.keys()) {
      const target = lease.peers.roomiest(diskFreeBytesMin, false);
      if (target === null) return;
      try {
        await this.#moveTo(project, target);
      } catch (error) {
        report(`project ${project} is not moved yet: ${reasonOf(error)}`);
      }
    }
  }

  /**
   * Moves a project from this service to the service of another machine. @throws {SqlRefusal} if the project stays
   * here.
   */
  async move(project: string, to: unknown): Promise<object> {
    const { moves, lease, machine } = this.#deps;
    const { peers, until } = lease;
    if (until === null || typeof to !== 'string') throw moves.noMachine(String(to), []);
    if (to === machine) return {};
    const target = peers.onMachine(to);
    if (target === undefined)
      throw moves.noMachine(
        to,
        peers.all.map((peer) => peer.machine),
      );
    await this.#moveTo(project, target);
    return {};
  }

  async #moveTo(project: string, target: ServiceRow): Promise<void> {
    const { own, lease, moves, address, report } = this.#deps;
    const home = own.get(project);
    if (home === undefined) return;
    const { table } = lease;
    await home.ready;
    const { row } = home;
    await moves.move(row, { from: address, to: target.address }, async () => {
      const decided = await this.#hand(table, row, target.id);
      if (decided !== 'stays') own.delete(project);
      return decided;
    });
    report(`project ${project} moved to machine ${target.machine}`);
  }

  async #hand(table: HomesTable, row: HomeRow, to: string): Promise<Decided> {
    const { lease } = this.#deps;
    const { era } = lease;
    try {
      await table.hand(row, to);
    } catch {
      // The move may have succeeded although Postgres reported an error.
    }
    while (era === lease.era)
      try {
        return (await table.find(row.project))?.service === row.service ? 'stays' : 'moved';
      } catch {
        await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      }
    return 'unknown';
  }
}

// Determines the projects whose home is this database service: looks homes up in Postgres, takes over the projects of
// lost services, and restores them. Called by service/service.ts when its processes do not know the home of a project.
// A service serves only while its lease is valid (lease.ts).
import type { DatabaseLimits } from '#core/limits.ts';
import type { HomeRow, HomesTable, ServiceRow } from '../../stores/database-homes-postgres.ts';
import type { Elsewhere } from '../protocol/frames.ts';
import { projectOf } from '../protocol/database-name.ts';
import { leaseNow, type Moment } from '../protocol/lease-clock.ts';
import { ProjectFolders } from './folders.ts';
import { HandOver } from './hand-over.ts';
import { Lease } from './lease.ts';
import { Moves } from './moves.ts';
import type { HomesOptions, OwnHome, ReplicationOfHomes, ShardsOfHomes } from './homes-options.ts';
import { reasonOf, unavailable, within } from './unavailable.ts';

interface HomesDeps extends HomesOptions {
  /** Token of all services. */
  readonly token: string;
  readonly directory: string;
  readonly limits: DatabaseLimits;
  readonly replication: ReplicationOfHomes | null;
  readonly shards: ShardsOfHomes;
  report(message: string): void;
}

/** Maximum number of concurrent restores, in addition to those that requests wait for. */
const RESTORES_MAX = 4;

export class Homes {
  readonly #deps: HomesDeps;
  readonly #folders: ProjectFolders;
  readonly #lease: Lease;
  readonly #moves: Moves;
  readonly #handOver: HandOver;
  /** Projects of this service, while it has a lease. */
  readonly #own = new Map<string, OwnHome>();
  /** Projects whose files are in this folder, but whose home is another service: their files are not changed. */
  readonly #disputed = new Set<string>();
  #restoring = 0;
  /** Projects that this service served before they had a row in Postgres. */
  readonly #unregistered = new Set<string>();
  readonly #known = new Set<string>();
  readonly #finding = new Map<string, Promise<OwnHome | Elsewhere>>();

  constructor(deps: HomesDeps) {
    const { token, directory, limits, replication, shards } = deps;
    this.#deps = deps;
    this.#folders = new ProjectFolders(directory);
    this.#moves = new Moves({
      isHere: (project) => this.#own.has(project),
      token,
      folders: this.#folders,
      shards,
      transactionMs: limits.transactionMs,
      diskFreeBytesMin: limits.diskFreeBytesMin,
      directory,
      replication,
    });
    this.#lease = new Lease({
      ...deps,
      waitMs: limits.homeMs / 2,
      folders: this.#folders,
      projects: {
        register: (table, withFolder) => this.#register(table, withFolder),
        begin: (rows, wasRegistered) => this.#begin(rows, wasRegistered),
        end: () => this.#own.clear(),
        keep: () => this.#known.clear(),
        stored: () =>
          [...this.#own.values()].flatMap(({ row }) =>
            row.state === 'serving' ? [[row.project, row.fence] as const] : [],
          ),
        isRestoring: () => this.#restoring > 0,
        work: (table) => this.#work(table),
      },
    });
    this.#handOver = new HandOver({
      ...deps,
      diskFreeBytesMin: limits.diskFreeBytesMin,
      lease: this.#lease,
      moves: this.#moves,
      own: this.#own,
      move: (name, to) => this.move(name, to),
    });
  }

  /** The processes may serve until this time; null means without a limit. */
  get until(): Moment | null {
    return this.#lease.until;
  }

  get isValid(): boolean {
    return this.#lease.isValid;
  }

  /** Addresses of the other services. */
  get peers(): string[] {
    const { peers } = this.#lease;
    return peers.all.filter(({ id }) => !peers.isLost(id)).map(({ address }) => address);
  }

  usePostgres(url: string): void {
    this.#lease.usePostgres(url);
  }

  /**
   * Whether this is the home of a database. Assigns a home to a project without one, and takes projects over from a
   * lost service.
   *
   * @throws {PlatformError} when no service can serve it now.
   */
  async place(name: string): Promise<'here' | Elsewhere> {
    const project = projectOf(name);
    const lease = this.#lease;
    for (;;) {
      await this.#moves.under(project);
      if (lease.until === null) {
        if (!this.#known.has(project)) this.#unregistered.add(project);
        return 'here';
      }
      if (!lease.isValid) await lease.renewed();
      const { era } = lease;
      const own = this.#own.get(project);
      const found = own === undefined ? await this.#findOnce(project) : own;
      if (era !== lease.era) continue;
      if ('at' in found) return found;
      await within(this.#deps.limits.homeMs / 2, found.ready, () => unavailable('its databases are being restored'));
      if (era === lease.era && this.#own.has(project)) return 'here';
    }
  }

  #findOnce(project: string): Promise<OwnHome | Elsewhere> {
    let finding = this.#finding.get(project);
    if (finding === undefined) {
      finding = this.#find(project).finally(() => this.#finding.delete(project));
      this.#finding.set(project, finding);
    }
    return finding;
  }

  async #find(project: string): Promise<OwnHome | Elsewhere> {
    const { table, peers, id } = this.#lease;
    const row = (await asked(table.find(project))) ?? (await this.#assign(table, project));
    if ('at' in row) return row;
    if (row.service === id) return this.#keep(row);
    const peer = peers.find(row.service);
    if (peer === undefined) {
      peers.see(await asked(table.services()), id);
      const address = peers.find(row.service)?.address;
      if (address === undefined) throw unavailable('its machine has just left: try again');
      return { at: address };
    }
    if (!peers.isLost(peer.id)) return { at: peer.address };
    const why = this.#whyNotTaken(peer);
    if (why !== null) throw unavailable(why);
    return (await this.#take(table, project, peer)) ?? { at: peer.address };
  }

  /** A project without a home gets one on a service with room. */
  async #assign(table: HomesTable, project: string): Promise<HomeRow | Elsewhere> {
    const { peers } = this.#lease;
    // A service that has databases from before the introduction of homes, and has not registered them.
    const alone = peers.all.find(({ isLeased, isRemoved }) => !isLeased && !isRemoved);
    if (alone !== undefined) {
      const why = peers.isLost(alone.id) ? this.#whyNotTaken(alone) : null;
      if (why !== null) throw unavailable(why);
      return { at: alone.address };
    }
    const { diskFreeBytesMin } = this.#deps.limits;
    const home = peers.roomiest(4 * diskFreeBytesMin, true) ?? peers.roomiest(0, true);
    if (home === null) throw unavailable('all machines of databases drain');
    return asked(table.create(project, home.id, home.hasReplicas ? 'restoring' : 'serving'));
  }

  /** This service is the home of the project. */
  #keep(row: HomeRow): OwnHome {
    const known = this.#own.get(row.project);
    if (known?.row.fence === row.fence) return known;
    const ready = row.state === 'restoring' ? this.#restore(row) : Promise.resolve();
    ready.catch(() => {});
    const own: OwnHome = { row, ready };
    this.#own.set(row.project, own);
    this.#folders.forgetAdopted(row.project);
    if (row.state === 'serving') this.#deps.replication?.setHome(row.project, row.fence);
    return own;
  }

  /** The reason why the projects of a lost service are not moved; null if they are moved. */
  #whyNotTaken(peer: ServiceRow): string | null {
    const { replication, machine } = this.#deps;
    const lost = `its databases are on machine ${peer.machine}, which does not answer`;
    if (!peer.hasReplicas || replication === null)
      return `${lost}, and they have no replicas (DB_REPLICA_S3_*): start the old machine again`;
    if (!peer.isLeased && !peer.isRemoved && peer.machine !== machine)
      return `${lost}, and that machine may still serve them: start it again, or remove it (\`platform machines remove ${peer.machine}\`)`;
    return null;
  }

  async #take(table: HomesTable, project: string, from: ServiceRow): Promise<OwnHome | null> {
    const { era, id } = this.#lease;
    const row = await asked(table.take(project, from, id));
    if (row === null || era !== this.#lease.era) return null;
    this.#deps.report(`project ${project} is taken from machine ${from.machine}, which is lost`);
    return this.#keep(row);
  }

  /**
   * Restores the databases of a project from the bucket; retries until it succeeds, or until another service is the
   * home.
   */
  async #restore(row: HomeRow): Promise<void> {
    const { replication, report, times } = this.#deps;
    const { project } = row;
    const lease = this.#lease;
    const { era } = lease;
    const began = leaseNow();
    this.#restoring++;
    try {
      for (let attempt = 1; ; attempt++)
        try {
          if (replication === null) throw new Error('no DB_REPLICA_S3_* is set');
          if (attempt === 1) this.#folders.setAside(project, true);
          const count = await replication.fillProject(project);
          if (era !== lease.era) throw unavailable('its machine is changing: try again');
          if (!(await lease.table.restored(row))) throw unavailable('it has another home');
          if (count > 0)
            report(`project ${project}: restored ${count} databases in ${Math.round(leaseNow() - began)} ms`);
          const own = this.#own.get(project);
          if (own?.row.fence === row.fence) own.row = { ...row, state: 'serving' };
          replication.setHome(project, row.fence);
          return;
        } catch (error) {
          if (era !== lease.era || lease.isClosed) throw error;
          if (attempt === 1) report(`project ${project} waits for its replica: ${reasonOf(error)}`);
          await new Promise((resolve) => setTimeout(resolve, times.renewMs));
        }
    } finally {
      this.#restoring--;
    }
  }

  /** Projects in this service's folder that have no home belong to this service. */
  async #register(table: HomesTable, withFolder: boolean): Promise<void> {
    const projects = [...new Set([...(withFolder ? this.#folders.projects() : []), ...this.#unregistered])];
    if (projects.length === 0 && !withFolder) return;
    const others = await table.register(projects, this.#lease.id);
    for (const project of projects) {
      this.#unregistered.delete(project);
      this.#known.add(project);
    }
    for (const project of others) {
      this.#disputed.add(project);
      this.#deps.report(`project ${project} has databases here, but another home: those here are not served`);
    }
  }

  /** Folders of projects that now have another home are set aside. */
  #begin(rows: readonly HomeRow[], wasRegistered: boolean): void {
    this.#own.clear();
    for (const row of rows) this.#keep(row);
    if (!wasRegistered) return;
    for (const project of this.#folders.projects())
      if (!this.#own.has(project) && !this.#disputed.has(project) && this.#folders.setAside(project))
        this.#deps.report(`project ${project} has another home now: the files that were here are in .former`);
    this.#folders.expire(this.#deps.limits.replicaRetentionDays);
  }

  /**
   * Background work of a service: takes over projects of lost services, and hands over its own projects when its
   * machine drains.
   */
  async #work(table: HomesTable): Promise<void> {
    const { peers } = this.#lease;
    if (peers.own?.isDraining === true) {
      await this.#handOver.drain();
      return;
    }
    await this.#handOver.moveWanted(table);
    for (const peer of peers.all) {
      if (!peers.isLost(peer.id)) continue;
      const projects = await table.some(peer.id, RESTORES_MAX);
      if (projects.length === 0 && (peer.isLeased || peer.isRemoved)) await table.forget(peer);
      if (this.#whyNotTaken(peer) !== null) continue;
      for (const project of projects)
        if (this.#restoring < RESTORES_MAX) await this.#take(table, project, peer).catch(() => {});
    }
  }

  /**
   * Moves a project to the service of a machine. @throws {SqlRefusal} when the project cannot be moved; it then stays
   * here.
   */
  async move(name: string, to: unknown): Promise<Elsewhere | object> {
    const placed = await this.place(name);
    return placed === 'here' ? this.#handOver.move(projectOf(name), to) : placed;
  }

  /** Handles the requests of other services about moves (frames.ts). */
  get moves(): Moves {
    return this.#moves;
  }

  async close(): Promise<void> {
    const closed = this.#lease.close();
    this.#moves.close();
    await closed;
  }
}

/** Loaded only if there can be several services. */
export function startHomes(deps: HomesDeps): Homes {
  return new Homes(deps);
}

async function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch((error: unknown) => {
    throw unavailable(`Postgres did not say which machine has the databases: ${reasonOf(error)}`);
  });
}

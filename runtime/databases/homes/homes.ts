// Which projects this database service is the home of. It renews its lease in Postgres, and serves only while that is
// certain; it takes the projects of services that are lost, and hands its own over. Called by service/service.ts for
// each question that its processes cannot answer. The rules: docs/decisions/135-one-home-by-a-counted-lease.md.
import { readFileSync, statfsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { DatabaseLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import {
  openHomesTable,
  type Announced,
  type HomeRow,
  type HomesTable,
  type ServiceRow,
} from '../../stores/database-homes-postgres.ts';
import type { Elsewhere } from '../protocol/frames.ts';
import { projectOf } from '../protocol/database-name.ts';
import { leaseNow } from '../protocol/lease-clock.ts';
import { ProjectFolders, type Identity } from './folders.ts';
import { Moves, type Decided } from './moves.ts';
import { Peers } from './peers.ts';
import type { HomesOptions, ReplicationOfHomes, ShardsOfHomes } from './homes-options.ts';

interface HomesDeps extends HomesOptions {
  /** Token of all services. */
  readonly token: string;
  readonly directory: string;
  readonly limits: DatabaseLimits;
  readonly replication: ReplicationOfHomes | null;
  readonly shards: ShardsOfHomes;
  report(message: string): void;
}

/** A project that is here. */
interface OwnHome {
  row: HomeRow;
  /** Settles when its databases are there. */
  readonly ready: Promise<void>;
}

/** Restores at a time, besides those that requests wait for. */
const RESTORES_MAX = 4;
const LOOK_MS = 50;

export class Homes {
  readonly #deps: HomesDeps;
  readonly #folders: ProjectFolders;
  readonly #peers: Peers;
  readonly #moves: Moves;
  #table: HomesTable | null = null;
  #identity: Identity;
  /** The folder is of no service yet, and has no database. */
  #isNew: boolean;
  /** Number of this process; 0: it has not announced itself. */
  #fence = 0;
  /** Until when this is a home; null: no other service can take its projects. */
  #until: number | null;
  /** Its projects, while it has a lease. */
  readonly #own = new Map<string, OwnHome>();
  /** Projects of its folder whose home is another one: they are left as they are. */
  readonly #disputed = new Set<string>();
  /** Incremented when everything that was known before is void. */
  #era = 0;
  #restoring = 0;
  /** No other service is there: the next renewal says that nobody may take what it has. */
  #wantsToBeAlone = false;
  #filling: Promise<void> | null = null;
  #wasRemoved = false;
  /** Projects that it served without a row in Postgres. */
  readonly #unregistered = new Set<string>();
  readonly #known = new Set<string>();
  readonly #finding = new Map<string, Promise<OwnHome | Elsewhere>>();
  #url = '';
  #isDraining = false;
  #isReplaced = false;
  #problem = 'Postgres has not answered yet';
  #renewing = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | null = null;
  readonly #watch: NodeJS.Timeout;
  #closed = false;

  constructor(deps: HomesDeps) {
    this.#deps = deps;
    this.#folders = new ProjectFolders(deps.directory);
    this.#peers = new Peers(deps.times.lostMs, leaseNow);
    const identity = this.#folders.identity();
    this.#isNew = identity === null && this.#folders.namespaces().length === 0;
    // A folder with databases from before there were homes is served as it was.
    this.#identity = identity ?? this.#folders.newIdentity(this.#isNew);
    if (identity === null && !this.#isNew) this.#folders.keepIdentity(this.#identity);
    this.#until = this.#identity.isLeased ? 0 : null;
    this.#moves = new Moves({
      isHere: (project) => this.#own.has(project),
      token: deps.token,
      folders: this.#folders,
      shards: deps.shards,
      transactionMs: deps.limits.transactionMs,
      diskFreeBytesMin: deps.limits.diskFreeBytesMin,
      directory: deps.directory,
      replication: deps.replication,
    });
    this.#watch = setInterval(() => this.#look(), LOOK_MS);
    if (!this.#identity.isLeased) deps.replication?.mayStore(null, null);
  }

  /** Until when the processes may serve; null: for good. */
  get until(): number | null {
    return this.#until;
  }

  get isValid(): boolean {
    return this.#until === null || leaseNow() < this.#until;
  }

  /** Addresses of the other services. */
  get peers(): string[] {
    return this.#peers.all.filter(({ id }) => !this.#peers.isLost(id)).map(({ address }) => address);
  }

  usePostgres(url: string): void {
    if (this.#closed) return;
    if (this.#url === url) return;
    this.#url = url;
    this.#open();
    if (this.#timer !== null) clearTimeout(this.#timer);
    void this.#tick();
  }

  /** Also when a connection does not answer any more. */
  #open(): HomesTable {
    void this.#table?.close().catch(() => {});
    return (this.#table = openHomesTable(this.#url));
  }

  /**
   * Whether this is the home of a database; gives it one, and takes it from a service that is lost.
   *
   * @throws {PlatformError} when nobody can serve it now.
   */
  async place(name: string): Promise<'here' | Elsewhere> {
    const project = projectOf(name);
    for (;;) {
      await this.#moves.under(project);
      if (this.#until === null) {
        if (!this.#known.has(project)) this.#unregistered.add(project);
        return 'here';
      }
      if (!this.isValid) await this.#renewed();
      const era = this.#era;
      const own = this.#own.get(project);
      const found = own === undefined ? await this.#findOnce(project) : own;
      if (era !== this.#era) continue;
      if ('at' in found) return found;
      await this.#inTime(found.ready, 'its databases are being restored');
      if (era === this.#era && this.#own.has(project)) return 'here';
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
    const table = this.#table;
    if (table === null) throw unavailable(this.#problem);
    const row = (await asked(table.find(project))) ?? (await this.#assign(table, project));
    if ('at' in row) return row;
    if (row.service === this.#identity.id) return this.#keep(row);
    const peer = this.#peers.find(row.service);
    if (peer === undefined) {
      this.#peers.see(await asked(table.services()), this.#identity.id);
      const address = this.#peers.find(row.service)?.address;
      if (address === undefined) throw unavailable('its machine has just left: try again');
      return { at: address };
    }
    if (!this.#peers.isLost(peer.id)) return { at: peer.address };
    const why = this.#whyNotTaken(peer);
    if (why !== null) throw unavailable(why);
    return (await this.#take(table, project, peer)) ?? { at: peer.address };
  }

  /** A project without a home gets one where there is room. */
  async #assign(table: HomesTable, project: string): Promise<HomeRow | Elsewhere> {
    // It has what it had before there were homes, and has not said what.
    const alone = this.#peers.all.find(({ isLeased, isRemoved }) => !isLeased && !isRemoved);
    if (alone !== undefined) {
      const why = this.#peers.isLost(alone.id) ? this.#whyNotTaken(alone) : null;
      if (why !== null) throw unavailable(why);
      return { at: alone.address };
    }
    const { diskFreeBytesMin } = this.#deps.limits;
    const home = this.#peers.roomiest(4 * diskFreeBytesMin, true) ?? this.#peers.roomiest(0, true);
    if (home === null) throw unavailable('all machines of databases drain');
    return asked(table.create(project, home.id, home.hasReplicas ? 'restoring' : 'serving'));
  }

  /** This is the home. */
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

  /** Why the projects of a lost service stay where they are; null: they do not. */
  #whyNotTaken(peer: ServiceRow): string | null {
    const { replication, machine } = this.#deps;
    const lost = `its databases are on machine ${peer.machine}, which does not answer`;
    if (!peer.hasReplicas || replication === null)
      return `${lost}, and they have no replicas (DB_REPLICA_S3_*): start that machine again`;
    if (!peer.isLeased && !peer.isRemoved && peer.machine !== machine)
      return `${lost}, and may serve them alone: start it again, or remove it (\`platform machines remove ${peer.machine}\`)`;
    return null;
  }

  async #take(table: HomesTable, project: string, from: ServiceRow): Promise<OwnHome | null> {
    const era = this.#era;
    const row = await asked(table.take(project, from, this.#identity.id));
    if (row === null || era !== this.#era) return null;
    this.#deps.report(`project ${project} is taken from machine ${from.machine}, which is lost`);
    return this.#keep(row);
  }

  /** Brings the databases of a project from the bucket; tries again until it can, or is not its home any more. */
  async #restore(row: HomeRow): Promise<void> {
    const { replication, report } = this.#deps;
    const { project } = row;
    const era = this.#era;
    const began = leaseNow();
    this.#restoring++;
    try {
      for (let attempt = 1; ; attempt++)
        try {
          if (replication === null) throw new Error('no DB_REPLICA_S3_* is set');
          if (attempt === 1) this.#folders.setAside(project, true);
          const count = await replication.fillProject(project);
          if (era !== this.#era) throw unavailable('its machine is changing: try again');
          if (!(await this.#table!.restored(row))) throw unavailable('it has another home');
          if (count > 0)
            report(`project ${project}: restored ${count} databases in ${Math.round(leaseNow() - began)} ms`);
          const own = this.#own.get(project);
          if (own?.row.fence === row.fence) own.row = { ...row, state: 'serving' };
          replication.setHome(project, row.fence);
          return;
        } catch (error) {
          if (era !== this.#era || this.#closed) throw error;
          if (attempt === 1) report(`project ${project} waits for its replica: ${reasonOf(error)}`);
          await new Promise((resolve) => setTimeout(resolve, this.#deps.times.renewMs));
        }
    } finally {
      this.#restoring--;
    }
  }

  async #renewed(): Promise<void> {
    if (this.#isReplaced) throw unavailable(this.#problem);
    await this.#inTime(this.#renewing.promise, `this machine may not serve it now: ${this.#problem}`);
  }

  async #inTime(promise: Promise<void>, otherwise: string): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(unavailable(otherwise)), this.#deps.limits.homeMs / 2);
    await Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
  }

  /** Notices the end of the lease, whatever else is going on. */
  #look(): void {
    if (this.#until !== null && this.#until > 0 && leaseNow() >= this.#until) this.#lapse();
  }

  #lapse(): void {
    if (this.#until === 0) return;
    this.#deps.report(`project databases are closed: the lease of this machine has ended (${this.#problem})`);
    this.#until = 0;
    this.#era++;
    this.#own.clear();
    this.#deps.shards.tell({ type: 'lease', until: 0 });
    this.#deps.replication?.mayStore(0);
    this.#deps.shards.endImports('the lease of this machine has ended');
  }

  async #tick(): Promise<void> {
    const { renewMs, validMs } = this.#deps.times;
    const table = this.#table!;
    try {
      await inMs(validMs / 2, this.#renew(table));
    } catch (error) {
      this.#problem = reasonOf(error);
      this.#look();
      if (!this.#closed && this.#table === table) this.#open();
    }
    if (!this.#closed) this.#timer = setTimeout(() => void this.#tick(), renewMs);
  }

  get #announced(): Announced {
    const { machine, address, version, directory, replication } = this.#deps;
    const { bavail, bsize } = statfsSync(directory);
    const { id, isLeased, isRegistered } = this.#identity;
    return {
      id,
      machine,
      address,
      version,
      boot: bootOf(),
      // Nobody may take what it has before it has said what that is.
      isLeased: isLeased && isRegistered && !this.#wantsToBeAlone,
      hasReplicas: replication !== null,
      diskFreeBytes: bavail * bsize,
    };
  }

  async #renew(table: HomesTable): Promise<void> {
    if (this.#isReplaced || (this.#fence === 0 && !(await this.#announce(table)))) return;
    const began = leaseNow();
    if (!(await table.renew(this.#announced, this.#fence))) return this.#gone(await table.services());
    this.#peers.see(await table.services(), this.#identity.id);
    // A later one may be under way.
    if (table !== this.#table) return;
    await this.#extend(table, began);
    void this.#work(table).catch((error: unknown) => (this.#problem = reasonOf(error)));
  }

  /** Its row is not what it was. */
  #gone(rows: readonly ServiceRow[]): void {
    this.#fence = 0;
    const row = rows.find(({ id }) => id === this.#identity.id);
    this.#problem = 'other machines have taken its projects';
    // What is in its folder may have another home now.
    this.#setIdentity({ ...this.#identity, isLeased: true, isRegistered: true });
    this.#until ??= leaseNow();
    this.#lapse();
    if (row === undefined) return;
    this.#wasRemoved = row.isRemoved;
    this.#isReplaced = !row.isRemoved;
    if (this.#isReplaced) this.#problem = `another process has the databases of this folder, on machine ${row.machine}`;
    else this.#problem = 'an operator has removed this machine';
    this.#deps.report(this.#problem);
  }

  /** @returns false: it may not, for now. */
  async #announce(table: HomesTable): Promise<boolean> {
    const announced = this.#announced;
    const rows = await table.services();
    // Its own row is seen as another's.
    this.#peers.see(rows, '');
    const before = rows.find(({ id }) => id === announced.id);
    if (before !== undefined && this.#wasRemoved) return false;
    // A process elsewhere may still serve from a copy of this folder.
    if (before?.isLeased === true && before.boot !== announced.boot && !this.#peers.isLost(before.id)) {
      this.#problem = `the service on ${before.machine} has the same databases, and is not certainly gone yet`;
      return false;
    }
    this.#fence = await table.announce(announced);
    return true;
  }

  /** The lease was renewed at this moment: what follows from it, and from the other services that are there. */
  async #extend(table: HomesTable, began: number): Promise<void> {
    const isAlone = this.#peers.all.length === 0;
    if (this.#until === null) return this.#extendAlone(table, began, isAlone);
    const isFresh = !this.isValid;
    if (isFresh) {
      this.#lapse();
      if (this.#isNew && !this.#isFilled(isAlone)) return;
      await this.#load(table);
    }
    this.#wantsToBeAlone = isAlone;
    if (isAlone && this.#peers.own?.isLeased === false) {
      this.#setIdentity({ ...this.#identity, isLeased: false, isRegistered: false });
      this.#known.clear();
      this.#grantForGood();
    } else this.#grant(began, isFresh);
  }

  /** A service that nobody can take anything from, until it has seen another one. */
  async #extendAlone(table: HomesTable, began: number, isAlone: boolean): Promise<void> {
    if (isAlone) {
      const projects = [...this.#unregistered];
      if (projects.length > 0) await this.#register(table, projects);
      return;
    }
    // From here on it obeys its lease. The next renewal says so, and only then may others take what it has.
    this.#wantsToBeAlone = false;
    this.#setIdentity({ ...this.#identity, isLeased: true, isRegistered: false });
    this.#until = began + this.#deps.times.validMs;
    await this.#load(table);
    this.#grant(began, true);
  }

  /** A new folder: it gets what a lost machine has left in the bucket, if there is no other service to ask. */
  #isFilled(isAlone: boolean): boolean {
    const { replication } = this.#deps;
    if (isAlone && replication !== null && this.#filling === null)
      this.#filling = replication.fill().then(() => {
        this.#setIdentity({ ...this.#identity, isLeased: true, isRegistered: false });
        this.#isNew = false;
      });
    if (this.#filling !== null) return !this.#isNew;
    replication?.markFilled();
    this.#setIdentity({ ...this.#identity, isLeased: true, isRegistered: true });
    this.#isNew = false;
    return true;
  }

  #grant(began: number, isFresh: boolean): void {
    const until = began + this.#deps.times.validMs;
    if (leaseNow() >= until || (!isFresh && until <= this.#until!)) return;
    this.#until = until;
    this.#problem = 'Postgres does not answer';
    this.#deps.shards.tell({ type: 'lease', until });
    const homes = [...this.#own.values()].filter(({ row }) => row.state === 'serving');
    this.#deps.replication?.mayStore(until, isFresh ? homes.map(({ row }) => [row.project, row.fence]) : undefined);
    this.#granted();
  }

  #grantForGood(): void {
    this.#until = null;
    this.#deps.shards.tell({ type: 'lease', until: null });
    this.#deps.replication?.mayStore(null, null);
    this.#granted();
  }

  #granted(): void {
    this.#renewing.resolve();
    this.#renewing = Promise.withResolvers();
  }

  #setIdentity(identity: Identity): void {
    this.#folders.keepIdentity(identity);
    this.#identity = identity;
  }

  /** What it has without a home is this service's. */
  async #register(table: HomesTable, projects: readonly string[]): Promise<void> {
    const others = await table.register(projects, this.#identity.id);
    for (const project of projects) {
      this.#unregistered.delete(project);
      this.#known.add(project);
    }
    for (const project of others) {
      this.#disputed.add(project);
      this.#deps.report(`project ${project} has databases here, but another home: those here are not served`);
    }
  }

  /** Reads which projects it has. Folders of projects that have got another home are set aside. */
  async #load(table: HomesTable): Promise<void> {
    const isRegistered = this.#identity.isRegistered;
    if (!isRegistered) {
      await this.#register(table, [...new Set([...this.#folders.projects(), ...this.#unregistered])]);
      this.#setIdentity({ ...this.#identity, isRegistered: true });
    }
    const rows = await table.homesOf(this.#identity.id);
    if (table !== this.#table) throw unavailable('Postgres answered late');
    this.#own.clear();
    for (const row of rows) this.#keep(row);
    if (!isRegistered) return;
    for (const project of this.#folders.projects())
      if (!this.#own.has(project) && !this.#disputed.has(project) && this.#folders.setAside(project))
        this.#deps.report(`project ${project} has another home now: the files that were here are in .former`);
    this.#folders.expire(this.#deps.limits.replicaRetentionDays);
  }

  /** What a service does in the background: takes projects of lost ones, hands over its own when it drains. */
  async #work(table: HomesTable): Promise<void> {
    this.#isDraining = this.#peers.own?.isDraining ?? false;
    if (this.#isDraining) {
      if (!this.#moves.isBusy) await this.#drain();
      return;
    }
    await this.#moveWanted(table);
    for (const peer of this.#peers.all) {
      if (!this.#peers.isLost(peer.id)) continue;
      const projects = await table.some(peer.id, RESTORES_MAX);
      if (projects.length === 0 && (peer.isLeased || peer.isRemoved)) await table.forget(peer);
      if (this.#whyNotTaken(peer) !== null) continue;
      for (const project of projects)
        if (this.#restoring < RESTORES_MAX) await this.#take(table, project, peer).catch(() => {});
    }
  }

  /** Moves that an operator has asked for. */
  async #moveWanted(table: HomesTable): Promise<void> {
    if (this.#moves.isBusy) return;
    for (const { project, to } of await table.wanted(this.#identity.id))
      try {
        await this.move(`${project}/any`, to);
        // A row that moved is another service's.
        await table.settleMove(project, this.#identity.id, null);
      } catch (error) {
        await table.settleMove(project, this.#identity.id, reasonOf(error));
      }
  }

  async #drain(): Promise<void> {
    for (const project of this.#own.keys()) {
      const target = this.#peers.roomiest(this.#deps.limits.diskFreeBytesMin, false);
      if (target === null) return;
      try {
        await this.#moveTo(project, target);
      } catch (error) {
        this.#deps.report(`project ${project} is not moved yet: ${reasonOf(error)}`);
      }
    }
  }

  /** Moves a project to the service of a machine. @throws {SqlRefusal} when it cannot; it stays here then. */
  async move(name: string, to: unknown): Promise<Elsewhere | object> {
    const placed = await this.place(name);
    if (placed !== 'here') return placed;
    if (this.#until === null || typeof to !== 'string') throw this.#moves.noMachine(String(to), []);
    if (to === this.#deps.machine) return {};
    const target = this.#peers.onMachine(to);
    if (target === undefined)
      throw this.#moves.noMachine(
        to,
        this.#peers.all.map(({ machine }) => machine),
      );
    await this.#moveTo(projectOf(name), target);
    return {};
  }

  async #moveTo(project: string, target: ServiceRow): Promise<void> {
    const own = this.#own.get(project);
    const table = this.#table;
    if (own === undefined || table === null) return;
    await own.ready;
    const { row } = own;
    await this.#moves.move(row, { from: this.#deps.address, to: target.address }, async () => {
      const decided = await this.#hand(table, row, target.id);
      if (decided !== 'stays') this.#own.delete(project);
      return decided;
    });
    this.#deps.report(`project ${project} moved to machine ${target.machine}`);
  }

  async #hand(table: HomesTable, row: HomeRow, to: string): Promise<Decided> {
    const era = this.#era;
    try {
      await table.hand(row, to);
    } catch {
      // It may have been done.
    }
    while (era === this.#era)
      try {
        return (await table.find(row.project))?.service === row.service ? 'stays' : 'moved';
      } catch {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    return 'unknown';
  }

  /** Other services ask these (frames.ts). */
  get moves(): Moves {
    return this.#moves;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.#moves.close();
    await this.#table?.close().catch(() => {});
  }
}

/** Loaded only where there can be several services. */
export function startHomes(deps: HomesDeps): Homes {
  return new Homes(deps);
}

/** The same until the machine starts again. */
function bootOf(): string {
  try {
    return `${hostname()} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return hostname();
  }
}

function unavailable(reason: string): PlatformError {
  return new PlatformError('database_unavailable', { reason });
}

async function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch((error: unknown) => {
    throw unavailable(`Postgres does not say where it is: ${reasonOf(error)}`);
  });
}

async function inMs<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Postgres does not answer')), ms);
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer));
}

function reasonOf(error: unknown): string {
  return error instanceof PlatformError ? String(error.details['reason'] ?? error.message) : (error as Error).message;
}

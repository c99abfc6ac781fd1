// The lease of this database service. The service announces itself in Postgres, renews its row, and is a home only
// while its lease is certain. homes.ts starts this module and decides the consequences for projects. The rules:
// docs/decisions/135-one-home-by-a-counted-lease.md.
import { readFileSync, statfsSync } from 'node:fs';
import { hostname } from 'node:os';
import {
  openHomesTable,
  type Announced,
  type HomeRow,
  type HomesTable,
  type ServiceRow,
} from '../../stores/database-homes-postgres.ts';
import { later, LeaseEnd, LONG_AGO, momentNow, type Moment } from '../protocol/lease-clock.ts';
import type { Identity, ProjectFolders } from './folders.ts';
import type { HomesOptions, ReplicationOfHomes, ShardsOfHomes } from './homes-options.ts';
import { Peers } from './peers.ts';
import { reasonOf, unavailable, within } from './unavailable.ts';

interface LeaseDeps extends HomesOptions {
  readonly directory: string;
  /** How long a request waits for a lease. */
  readonly waitMs: number;
  readonly folders: ProjectFolders;
  readonly replication: ReplicationOfHomes | null;
  readonly shards: Pick<ShardsOfHomes, 'tell' | 'endImports'>;
  readonly projects: LeasedProjects;
  /** For tests. */
  readonly openTable?: typeof openHomesTable;
  readonly now?: () => Moment;
  report(message: string): void;
}

/** The projects of a service, which follow its lease. */
interface LeasedProjects {
  /**
   * Registers the projects that this service served before they had a row in Postgres. @param withFolder whether the
   * projects in its folder are registered too.
   */
  register(table: HomesTable, withFolder: boolean): Promise<void>;
  /** A lease begins. @param wasRegistered whether Postgres had a row for every project in the folder. */
  begin(rows: readonly HomeRow[], wasRegistered: boolean): void;
  /** The lease has expired: other services may take the projects. */
  end(): void;
  /** No other service can take over the projects any more; rows in Postgres are ignored. */
  keep(): void;
  /** Projects that may be stored, with their numbers. */
  stored(): (readonly [project: string, fence: number])[];
  /** Whether databases of a lost service are still being restored here. */
  isRestoring(): boolean;
  /** Called after each renewal. */
  work(table: HomesTable): Promise<void>;
}

const LOOK_MS = 50;

export class Lease {
  readonly #deps: LeaseDeps;
  readonly #now: () => Moment;
  readonly peers: Peers;
  #table: HomesTable | null = null;
  #identity: Identity;
  /** Whether the folder is new: it belongs to no service and contains no database. */
  #isNew: boolean;
  /** Number of this process; 0 if it has not announced itself. */
  #fence = 0;
  /** The time until which this service is a home; unlimited if no other service can take over its projects. */
  readonly #end: LeaseEnd;
  /** Whether the end of the lease was processed. */
  #isOver: boolean;
  /** Whether the service has read its projects since the lease began. */
  #hasBegun = false;
  /** Incremented when everything that was read before becomes invalid. */
  #era = 0;
  /** There is no other service: the next renewal records that no service may take over the projects of this one. */
  #wantsToBeAlone = false;
  #filling: Promise<void> | null = null;
  #wasRemoved = false;
  #url = '';
  #isReplaced = false;
  #problem = 'Postgres has not answered yet';
  #renewing = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | null = null;
  readonly #watch: NodeJS.Timeout;
  #closed = false;

  constructor(deps: LeaseDeps) {
    const { folders, times, replication } = deps;
    this.#deps = deps;
    this.#now = deps.now ?? momentNow;
    this.peers = new Peers(times.lostMs, () => this.#now().monotonic);
    const identity = folders.identity();
    this.#isNew = identity === null && folders.namespaces().length === 0;
    // A folder with databases from before the introduction of homes is served as before.
    this.#identity = identity ?? folders.newIdentity(this.#isNew);
    if (identity === null && !this.#isNew) folders.keepIdentity(this.#identity);
    this.#isOver = this.#identity.isLeased;
    this.#end = new LeaseEnd(this.#isOver ? LONG_AGO : null, this.#now);
    this.#watch = setInterval(() => this.#look(), LOOK_MS);
    if (!this.#identity.isLeased) replication?.mayStore(null, null);
  }

  /** The row of the service in Postgres. */
  get id(): string {
    return this.#identity.id;
  }

  /** @throws {PlatformError} before the address of Postgres is known. */
  get table(): HomesTable {
    if (this.#table === null) throw unavailable(this.#problem);
    return this.#table;
  }

  /** Changes when the lease ends and everything that was read before becomes invalid. */
  get era(): number {
    return this.#era;
  }

  /** The time until which the processes may serve; null means no limit. */
  get until(): Moment | null {
    return this.#end.at;
  }

  get isValid(): boolean {
    return !this.#end.isPast;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  usePostgres(url: string): void {
    if (this.#closed) return;
    if (this.#url === url) return;
    this.#url = url;
    this.#open();
    if (this.#timer !== null) clearTimeout(this.#timer);
    void this.#tick();
  }

  /** Opens a new connection to Postgres, because the old one may no longer respond. */
  #open(): HomesTable {
    void this.#table?.close().catch(() => {});
    return (this.#table = (this.#deps.openTable ?? openHomesTable)(this.#url));
  }

  /** Waits for a lease. @throws {PlatformError} if there is no lease in time. */
  async renewed(): Promise<void> {
    if (this.#isReplaced) throw unavailable(this.#problem);
    const { waitMs } = this.#deps;
    await within(waitMs, this.#renewing.promise, () =>
      unavailable(`this machine may not serve it now: ${this.#problem}`),
    );
  }

  /** A timer detects the end of the lease, even while other work waits. */
  #look(): void {
    if (!this.isValid) this.#lapse();
  }

  #lapse(): void {
    this.#hasBegun = false;
    if (this.#isOver) return;
    const { report, projects, shards, replication } = this.#deps;
    report(`project databases are closed: the lease of this machine has ended (${this.#problem})`);
    this.#isOver = true;
    this.#end.set(LONG_AGO);
    this.#era++;
    projects.end();
    shards.tell({ type: 'lease', until: LONG_AGO });
    replication?.mayStore(LONG_AGO);
    shards.endImports('the lease of this machine has ended');
  }

  async #tick(): Promise<void> {
    const { renewMs, validMs } = this.#deps.times;
    const table = this.#table!;
    try {
      await within(validMs / 2, this.#renew(table), () => new Error('Postgres does not answer'));
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
      // Projects of the service must not be taken over before it has registered them.
      isLeased: isLeased && isRegistered && !this.#wantsToBeAlone,
      hasReplicas: replication !== null,
      diskFreeBytes: bavail * bsize,
    };
  }

  async #renew(table: HomesTable): Promise<void> {
    if (this.#isReplaced || (this.#fence === 0 && !(await this.#announce(table)))) return;
    const began = this.#now();
    if (!(await table.renew(this.#announced, this.#fence))) return this.#gone(await table.services());
    this.peers.see(await table.services(), this.id);
    // A later renewal may be in progress.
    if (table !== this.#table) return;
    await this.#extend(table, began);
    void this.#deps.projects.work(table).catch((error: unknown) => (this.#problem = reasonOf(error)));
  }

  /** Another service has changed the row of this service. */
  #gone(rows: readonly ServiceRow[]): void {
    this.#fence = 0;
    const row = rows.find(({ id }) => id === this.id);
    this.#problem = 'other machines have taken its projects';
    // The projects in this service's folder may have another home now.
    this.#setIdentity({ ...this.#identity, isLeased: true, isRegistered: true });
    this.#lapse();
    if (row === undefined) return;
    this.#wasRemoved = row.isRemoved;
    this.#isReplaced = !row.isRemoved;
    if (this.#isReplaced) this.#problem = `another process has the databases of this folder, on machine ${row.machine}`;
    else this.#problem = 'an operator has removed this machine';
    this.#deps.report(this.#problem);
  }

  /** @returns false if the service must not serve for now. */
  async #announce(table: HomesTable): Promise<boolean> {
    const announced = this.#announced;
    const rows = await table.services();
    // Otherwise the service would mistake its own row for that of another service.
    this.peers.see(rows, '');
    const before = rows.find(({ id }) => id === announced.id);
    if (before !== undefined && this.#wasRemoved) return false;
    // A process on another machine may still serve from a copy of this folder.
    if (before?.isLeased === true && before.boot !== announced.boot && !this.peers.isLost(before.id)) {
      this.#problem = `the service on ${before.machine} has the same databases, and is not certainly gone yet`;
      return false;
    }
    this.#fence = await table.announce(announced);
    return true;
  }

  /** Applies a renewal of the lease at this moment, and the list of other services. */
  async #extend(table: HomesTable, began: Moment): Promise<void> {
    const isAlone = this.peers.all.length === 0;
    if (this.#end.at === null) return this.#extendAlone(table, began, isAlone);
    if (!this.isValid) this.#lapse();
    const isFresh = !this.#hasBegun;
    if (isFresh) {
      if (this.#isNew && !this.#isFilled(isAlone)) return;
      await this.#begin(table);
    }
    // Only after all restores, because requests do not wait for a restore when the lease has no end.
    this.#wantsToBeAlone = isAlone && !this.#deps.projects.isRestoring();
    if (this.#wantsToBeAlone && this.peers.own?.isLeased === false) {
      this.#setIdentity({ ...this.#identity, isLeased: false, isRegistered: false });
      this.#deps.projects.keep();
      this.#grantForGood();
    } else this.#grant(began, isFresh);
  }

  /** Until this service sees another service, no projects can be taken over from it. */
  async #extendAlone(table: HomesTable, began: Moment, isAlone: boolean): Promise<void> {
    if (isAlone) return this.#deps.projects.register(table, false);
    // From here on, this service serves only while it has a lease. The next renewal records that, and only then may
    // others take over its projects.
    this.#wantsToBeAlone = false;
    this.#hasBegun = false;
    this.#setIdentity({ ...this.#identity, isLeased: true, isRegistered: false });
    this.#end.set(later(began, this.#deps.times.validMs));
    await this.#begin(table);
    this.#grant(began, true);
  }

  /** A new folder: if there is no other service, it restores the databases of a lost machine from the bucket. */
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

  /** Reads the service's projects from Postgres. */
  async #begin(table: HomesTable): Promise<void> {
    const { projects } = this.#deps;
    const { isRegistered } = this.#identity;
    if (!isRegistered) {
      await projects.register(table, true);
      this.#setIdentity({ ...this.#identity, isRegistered: true });
    }
    const rows = await table.homesOf(this.id);
    if (table !== this.#table) throw unavailable('Postgres answered late');
    projects.begin(rows, isRegistered);
    this.#hasBegun = true;
  }

  #grant(began: Moment, isFresh: boolean): void {
    const { times, shards, replication, projects } = this.#deps;
    const until = later(began, times.validMs);
    const before = this.#end.at;
    if (new LeaseEnd(until, this.#now).isPast) return;
    if (!isFresh && before !== null && until.monotonic <= before.monotonic) return;
    this.#end.set(until);
    this.#isOver = false;
    this.#problem = 'Postgres does not answer';
    shards.tell({ type: 'lease', until });
    replication?.mayStore(until, isFresh ? projects.stored() : undefined);
    this.#granted();
  }

  #grantForGood(): void {
    this.#end.set(null);
    this.#isOver = false;
    this.#deps.shards.tell({ type: 'lease', until: null });
    this.#deps.replication?.mayStore(null, null);
    this.#granted();
  }

  #granted(): void {
    this.#renewing.resolve();
    this.#renewing = Promise.withResolvers();
  }

  #setIdentity(identity: Identity): void {
    this.#deps.folders.keepIdentity(identity);
    this.#identity = identity;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#watch);
    await this.#table?.close().catch(() => {});
  }
}

/** A text that changes only when the machine restarts. */
function bootOf(): string {
  try {
    return `${hostname()} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return hostname();
  }
}

// The tables of the database services, and of the service that is the home of each project. Each change of a home
// increments its number. Used by runtime/databases/homes/, which makes the decisions. This module reads no clock.
import { openPostgres, type Session } from '#postgres/connection.ts';

/** A database service, as it has announced itself. */
export interface ServiceRow {
  readonly id: string;
  readonly machine: string;
  readonly address: string;
  readonly boot: string;
  readonly fence: number;
  readonly renewals: number;
  readonly isLeased: boolean;
  readonly hasReplicas: boolean;
  readonly isDraining: boolean;
  readonly isRemoved: boolean;
  readonly diskFreeBytes: number;
}

/** The announcement of a service. */
export type Announced = Pick<
  ServiceRow,
  'id' | 'machine' | 'address' | 'boot' | 'isLeased' | 'hasReplicas' | 'diskFreeBytes'
> & { readonly version: string };

/** The home of a project. */
export interface HomeRow {
  readonly project: string;
  readonly service: string;
  readonly fence: number;
  readonly state: 'serving' | 'restoring';
}

/** Access to the tables. All methods throw a `PostgresError` when the server is unavailable. */
export interface HomesTable {
  /** Registers a new process of a service. @returns its number. */
  announce(service: Announced): Promise<number>;
  /**
   * Renews the row of a service. @returns false if another process has the service's folder, or an operator has removed
   * the row.
   */
  renew(service: Announced, fence: number): Promise<boolean>;
  services(): Promise<ServiceRow[]>;
  homesOf(service: string): Promise<HomeRow[]>;
  find(project: string): Promise<HomeRow | null>;
  /** Assigns a project without a home to a service. @returns the home of the project, which may be another service. */
  create(project: string, service: string, state: HomeRow['state']): Promise<HomeRow>;
  /** Registers projects that are already on a service's disk. @returns the projects whose home is another service. */
  register(projects: readonly string[], service: string): Promise<string[]>;
  /** Returns a page of a service's projects. */
  some(service: string, count: number): Promise<string[]>;
  /**
   * Takes over a project from a service that has not renewed its lease since then. @returns null if the other service
   * has renewed its lease, or a third service was faster.
   */
  take(project: string, from: Pick<ServiceRow, 'id' | 'renewals'>, to: string): Promise<HomeRow | null>;
  /** Records that the databases of a project are restored. @returns false if the project has another home now. */
  restored(home: HomeRow): Promise<boolean>;
  /** Transfers a project to another service. @returns the new number; null if the project had another home. */
  hand(home: HomeRow, to: string): Promise<number | null>;
  /** Returns the moves of a service's projects that an operator has requested. */
  wanted(service: string): Promise<{ readonly project: string; readonly to: string }[]>;
  /** Records that a move has finished, or why it failed. */
  settleMove(project: string, service: string, problem: string | null): Promise<void>;
  /** Deletes a service without projects. */
  forget(service: Pick<ServiceRow, 'id' | 'renewals'>): Promise<void>;
  close(): Promise<void>;
}

const columns = `id, machine, address, boot, fence::float8 AS fence, renewals::float8 AS renewals, is_leased AS "isLeased",
  has_replicas AS "hasReplicas", is_draining AS "isDraining", is_removed AS "isRemoved",
  disk_free_bytes::float8 AS "diskFreeBytes"`;
const homeColumns = 'project, service, fence::float8 AS fence, state';
/** Timeout of statements, so that a waiting statement does not delay the renewal of the lease. */
const STATEMENT_MS = 3000;

/** @param url the URL for the tables of bindings. */
export function openHomesTable(url: string): HomesTable {
  const sql = openPostgres({
    url,
    name: 'platform database homes',
    connectionsMax: 3,
    schema: 'binding',
    statementMs: STATEMENT_MS,
    connectMs: STATEMENT_MS,
  });
  const nextFence = async (tx: Session): Promise<number> => {
    const [row] = await tx.all<{ fence: number }>('UPDATE replica SET fence = fence + 1 RETURNING fence::float8');
    if (row === undefined) throw new Error('the table binding.replica has no row');
    return row.fence;
  };
  const find = async (project: string): Promise<HomeRow | null> => {
    const [row] = await sql.all<HomeRow>(`SELECT ${homeColumns} FROM database_home WHERE project = $1`, project);
    return row ?? null;
  };
  return {
    announce: (service) =>
      sql.transaction(async (tx) => {
        const fence = await nextFence(tx);
        const { id, machine, address, version, boot, isLeased, hasReplicas, diskFreeBytes } = service;
        await tx.all(
          `INSERT INTO database_service AS s
            (id, machine, address, version, fence, boot, is_leased, has_replicas, disk_free_bytes)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
          ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, address = excluded.address,
            version = excluded.version, fence = excluded.fence, boot = excluded.boot, renewals = s.renewals + 1,
            is_leased = excluded.is_leased, has_replicas = excluded.has_replicas, is_draining = false,
            is_removed = false, disk_free_bytes = excluded.disk_free_bytes, seen_at = clock_timestamp()`,
          id,
          machine,
          address,
          version,
          fence,
          boot,
          isLeased,
          hasReplicas,
          diskFreeBytes,
        );
        return fence;
      }),
    async renew({ id, isLeased, diskFreeBytes }, fence) {
      const rows = await sql.all(
        `UPDATE database_service SET renewals = renewals + 1, is_leased = $3, disk_free_bytes = $4,
          seen_at = clock_timestamp() WHERE id = $1 AND fence = $2 AND NOT is_removed RETURNING id`,
        id,
        fence,
        isLeased,
        diskFreeBytes,
      );
      return rows.length > 0;
    },
    services: () => sql.all<ServiceRow>(`SELECT ${columns} FROM database_service ORDER BY id`),
    homesOf: (service) => sql.all<HomeRow>(`SELECT ${homeColumns} FROM database_home WHERE service = $1`, service),
    find,
    async create(project, service, state) {
      await sql.transaction(async (tx) => {
        const fence = await nextFence(tx);
        await tx.all(
          `INSERT INTO database_home (project, service, fence, state) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
          project,
          service,
          fence,
          state,
        );
      });
      const home = await find(project);
      if (home === null) throw new Error(`project ${project} has no home`);
      return home;
    },
    register: (projects, service) =>
      sql.transaction(async (tx) => {
        const fence = await nextFence(tx);
        await tx.all(
          `INSERT INTO database_home (project, service, fence) SELECT project, $2, $3 FROM unnest($1::text[]) AS project
            ON CONFLICT DO NOTHING`,
          projects,
          service,
          fence,
        );
        const others = await tx.all<{ project: string }>(
          'SELECT project FROM database_home WHERE project = ANY($1::text[]) AND service <> $2 ORDER BY project',
          projects,
          service,
        );
        return others.map(({ project }) => project);
      }),
    async some(service, count) {
      const rows = await sql.all<{ project: string }>(
        'SELECT project FROM database_home WHERE service = $1 ORDER BY project LIMIT $2',
        service,
        count,
      );
      return rows.map(({ project }) => project);
    },
    take: (project, from, to) =>
      sql.transaction(async (tx) => {
        // The service's next renewal waits for this lock, and then sees which projects were taken.
        const [row] = await tx.all<{ renewals: number }>(
          'SELECT renewals::float8 AS renewals FROM database_service WHERE id = $1 FOR UPDATE',
          from.id,
        );
        if (row?.renewals !== from.renewals) return null;
        const fence = await nextFence(tx);
        const [home] = await tx.all<HomeRow>(
          `UPDATE database_home SET service = $3, fence = $4, state = 'restoring', changed_at = clock_timestamp()
            WHERE project = $1 AND service = $2 RETURNING ${homeColumns}`,
          project,
          from.id,
          to,
          fence,
        );
        return home ?? null;
      }),
    async restored({ project, service, fence }) {
      const rows = await sql.all(
        `UPDATE database_home SET state = 'serving', changed_at = clock_timestamp()
          WHERE project = $1 AND service = $2 AND fence = $3 RETURNING project`,
        project,
        service,
        fence,
      );
      return rows.length > 0;
    },
    hand: ({ project, service, fence }, to) =>
      sql.transaction(async (tx) => {
        const next = await nextFence(tx);
        const rows = await tx.all(
          `UPDATE database_home SET service = $4, fence = $5, state = 'serving', changed_at = clock_timestamp(),
            move_to = NULL, move_problem = NULL
            WHERE project = $1 AND service = $2 AND fence = $3 RETURNING project`,
          project,
          service,
          fence,
          to,
          next,
        );
        return rows.length > 0 ? next : null;
      }),
    wanted: (service) =>
      sql.all<{ project: string; to: string }>(
        `SELECT project, move_to AS "to" FROM database_home WHERE service = $1 AND move_to IS NOT NULL LIMIT 16`,
        service,
      ),
    async settleMove(project, service, problem) {
      await sql.all(
        'UPDATE database_home SET move_to = NULL, move_problem = $3 WHERE project = $1 AND service = $2',
        project,
        service,
        problem,
      );
    },
    async forget({ id, renewals }) {
      await sql.all(
        `DELETE FROM database_service WHERE id = $1 AND renewals = $2
          AND NOT EXISTS (SELECT FROM database_home WHERE service = $1)`,
        id,
        renewals,
      );
    },
    close: () => sql.close(0),
  };
}

// The row of this machine in Postgres: created at its start, renewed at each check of its presence, deleted when it
// stops. Called by the supervisor. A machine that does not fit is refused with the reason.
import { databaseVersion, thisProgram, versionProblem } from './compatibility.ts';
import type { Statements } from './connection.ts';
import { countMigrations } from './ledger.ts';
import { schemaVersion } from './schema-version.ts';
import { joinPresence, type Member } from './presence.ts';

/** Constant properties of a machine. */
export interface MachineFacts {
  /** Lower-case letters, digits and hyphens. */
  readonly name: string;
  /** Whether an operator chose the name; a default name gets a number if it is taken. */
  readonly isNameChosen: boolean;
  readonly privateOrigin: string | null;
  readonly upstream: string | null;
  readonly parts: readonly string[];
  readonly version: string;
  readonly keyIds: readonly string[];
  /** Maximum difference between the clock of a machine and the clock of Postgres. */
  readonly clockMsMax: number;
}

/** Properties that change. */
export interface MachineFigures {
  readonly memoryBytes: number;
  readonly memoryFreeBytes: number;
  readonly diskBytes: number;
  readonly diskFreeBytes: number;
  /** When the machine's routes were last up to date with Postgres; null if it does not copy them. */
  readonly routesAgeSeconds: number | null;
}

/** The state that operators requested. */
type MachineState = 'up' | 'draining' | 'drained';

/** A machine that serves requests. */
interface ServingMachine {
  readonly name: string;
  readonly upstream: string;
}

/** The result of a check. */
export interface MachineLook {
  readonly name: string;
  readonly state: MachineState;
  /** No edge sends new requests to the machine. */
  readonly isLeftByEdges: boolean;
  /** Machines to which edges send requests, by name. */
  readonly serving: readonly ServingMachine[];
  /** Time at which the table was read, for `edgeReadAt`. */
  readonly at: string;
}

interface MachineDeps {
  readonly url: string;
  readonly facts: MachineFacts;
  readonly figures: () => MachineFigures;
  /**
   * When the routing table was read that the edge of this machine uses; null if no edge runs here, or it has no table
   * yet.
   */
  readonly edgeReadAt: () => string | null;
  readonly onLook: (look: MachineLook) => void;
  /** The machine cannot join the installation: the reason and the solution. */
  readonly onRefused: (reason: string) => void;
  readonly onTrouble: (error: unknown) => void;
  /** For tests. */
  readonly now?: () => number;
}

/** A machine that has announced itself, or is trying to. */
export interface AnnouncedMachine {
  look(): Promise<void>;
  setDrained(): void;
  /** Deletes the row, so that other machines see that this machine has stopped. */
  close(): Promise<void>;
}

const NAMES_MAX = 100;

const columns = `name, member, lock_key, private_origin, upstream, parts, version, key_ids, memory_bytes, memory_free_bytes,
  disk_bytes, disk_free_bytes, edge_read_at`;

/** Takes a machine name, unless another running machine has it. */
const take = `INSERT INTO control.machine (${columns})
  VALUES ($1, $2, $3, $4, $5, $6::text[], $7, $8::text[], $9, $10, $11, $12, $13::timestamptz)
  ON CONFLICT (name) DO UPDATE SET (${columns}) = (SELECT excluded.name, excluded.member, excluded.lock_key,
      excluded.private_origin, excluded.upstream, excluded.parts, excluded.version, excluded.key_ids, excluded.memory_bytes,
      excluded.memory_free_bytes, excluded.disk_bytes, excluded.disk_free_bytes, excluded.edge_read_at),
    state = 'up', state_at = now(), announced_at = now(), seen_at = clock_timestamp()
  WHERE EXISTS (SELECT FROM control.machine_now AS other WHERE other.name = excluded.name AND other.status = 'lost')
  RETURNING name`;

const renew = `UPDATE control.machine SET seen_at = clock_timestamp(), memory_free_bytes = $3, disk_free_bytes = $4,
    edge_read_at = $5::timestamptz, routes_age_seconds = $7, state = CASE WHEN $6 THEN 'drained' ELSE state END,
    state_at = CASE WHEN $6 AND state <> 'drained' THEN now() ELSE state_at END
  WHERE name = $1 AND member = $2
  RETURNING state, state_at::text, clock_timestamp()::text AS at`;

/**
 * Announces a machine, and renews its row until it is closed.
 *
 * @throws {PostgresError} if the server is unavailable.
 */
export async function announceMachine(deps: MachineDeps): Promise<AnnouncedMachine> {
  const { facts, onRefused } = deps;
  let name: string | null = null;
  let isRefused = false;
  let isDrained = false;
  /** The other machine with this name at the last check. */
  let other: { readonly name: string; readonly seen: string } | null = null;
  let number = 1;

  function refuse(reason: string): void {
    isRefused = true;
    onRefused(reason);
  }

  async function announce(sql: Statements, member: Member): Promise<void> {
    const difference =
      (await versionDifference(sql, facts)) ??
      (await clockDifference(sql, facts.clockMsMax, deps.now)) ??
      (await keyDifference(sql, facts));
    if (difference !== null) return refuse(difference);
    while (name === null) {
      const wanted = number === 1 ? facts.name : `${facts.name.slice(0, 59)}-${number}`;
      const { memoryBytes, memoryFreeBytes, diskBytes, diskFreeBytes } = deps.figures();
      const [row] = await sql.all<{ name: string }>(
        take,
        wanted,
        member.id,
        member.key,
        facts.privateOrigin,
        facts.upstream,
        facts.parts,
        facts.version,
        facts.keyIds,
        memoryBytes,
        memoryFreeBytes,
        diskBytes,
        diskFreeBytes,
        deps.edgeReadAt(),
      );
      if (row !== undefined) {
        name = row.name;
        return;
      }
      const [found] = await sql.all<{ seen: string; origin: string | null }>(
        `SELECT member || ' ' || seen_at AS seen, private_origin AS origin FROM control.machine WHERE name = $1`,
        wanted,
      );
      // The other machine has just stopped, or is an earlier process of this machine whose lease has not expired.
      if (found === undefined || other?.name !== wanted) {
        other = { name: wanted, seen: found?.seen ?? '' };
        return;
      }
      if (other.seen === found.seen) return;
      if (facts.isNameChosen || number === NAMES_MAX)
        return refuse(
          `Another machine is called ${wanted}${found.origin === null ? '' : ` (${found.origin})`}: give this one another MACHINE_NAME`,
        );
      number++;
    }
  }

  async function look(sql: Statements, member: Member): Promise<void> {
    if (isRefused) return;
    if (name === null) await announce(sql, member);
    if (name === null) return;
    const figures = deps.figures();
    const [row] = await sql.all<{ state: MachineState; state_at: string; at: string }>(
      renew,
      name,
      member.id,
      figures.memoryFreeBytes,
      figures.diskFreeBytes,
      deps.edgeReadAt(),
      isDrained,
      figures.routesAgeSeconds,
    );
    if (row === undefined)
      return refuse(
        `Machine ${name} was removed from the installation, or another machine uses its name now: restart it to join again`,
      );
    const { state, state_at: since, at } = row;
    const [edges] =
      state === 'up'
        ? [undefined]
        : await sql.all(
            `SELECT FROM control.machine_now WHERE status <> 'lost' AND 'edge' = ANY(parts)
              AND (edge_read_at IS NULL OR edge_read_at < $1::timestamptz) LIMIT 1`,
            since,
          );
    const serving = await sql.all<ServingMachine>(
      `SELECT name, upstream FROM control.machine_now
        WHERE status = 'up' AND 'handler' = ANY(parts) AND upstream IS NOT NULL ORDER BY name`,
    );
    deps.onLook({ name, state, isLeftByEdges: edges === undefined, serving, at });
  }

  const presence = await joinPresence(deps.url, deps.onTrouble, look);
  return {
    look: () => presence.look(),
    setDrained() {
      isDrained = true;
      void presence.look();
    },
    close: () =>
      presence.close(async (sql) => {
        if (name !== null)
          await sql.all('DELETE FROM control.machine WHERE name = $1 AND member = $2', name, presence.id);
      }),
  };
}

/** Why the machine's version cannot work on this database, or null. */
async function versionDifference(sql: Statements, { version }: MachineFacts): Promise<string | null> {
  const problem = versionProblem({ ...thisProgram(), version }, await databaseVersion(sql));
  if (problem !== null) return problem;
  const [count, known] = [await countMigrations((text) => sql.all(text)), schemaVersion()];
  if (count !== null && count >= known) return null;
  return (
    `The database has ${count ?? 0} migrations, and version ${version} needs ${known}: upgrade the machine with the API ` +
    'first, or run `platform upgrade --rolling` here'
  );
}

/** Why the clock of this machine cannot be used; null if it can. @param now for tests. */
export async function clockDifference(
  sql: Statements,
  clockMsMax: number,
  now: () => number = Date.now,
): Promise<string | null> {
  const before = now();
  const [row] = await sql.all<{ ms: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms');
  const after = now();
  // The clocks cannot be compared more precisely than the round trip.
  const off = row!.ms < before ? before - row!.ms : Math.max(0, row!.ms - after);
  if (off <= clockMsMax) return null;
  const word = row!.ms < before ? 'ahead of' : 'behind';
  return (
    `The clock of this machine is ${Math.round(off / 1000)} s ${word} that of Postgres, and ${clockMsMax / 1000} s are allowed ` +
    '(MACHINE_CLOCK_MS_MAX): synchronize both by NTP'
  );
}

/** Why the machine's ENCRYPTION_KEY cannot be used, or null. */
async function keyDifference(sql: Statements, { name, keyIds }: MachineFacts): Promise<string | null> {
  if (keyIds.length === 0) return null;
  const [other] = await sql.all<{ name: string }>(
    `SELECT name FROM control.machine_now
      WHERE status <> 'lost' AND name <> $1 AND key_ids <> '{}' AND NOT key_ids && $2::text[] ORDER BY name LIMIT 1`,
    name,
    keyIds,
  );
  if (other === undefined) return null;
  return `ENCRYPTION_KEY differs from that of machine ${other.name}: give this machine the same key`;
}

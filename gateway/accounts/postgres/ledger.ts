// Budget reservations in Postgres. A call reserves from every limit that applies to it, or from none, in one statement,
// so all gateways of an installation share their limits. Usage is written later in batches. Reservations of a gateway
// count as long as it sends heartbeats.
import { randomUUID } from 'node:crypto';
import type { Postgres } from '#postgres/connection.ts';
import { isConnectionError, sqlState } from '#postgres/postgres-error.ts';
import type { Caller, GatewayDeps, Ledger, Spend } from '../../contract/contract.ts';
import type { Limit } from '../accounts.ts';
import { amountOf, applies, keyOf, nearest, refusalOf, type Room } from '../room.ts';
import { windowOf } from '../window.ts';
import { count } from './usage.ts';

interface Deps {
  readonly sql: Postgres;
  readonly now: () => number;
  readonly limitsOf: (caller: Caller) => Promise<readonly Limit[]>;
  readonly log: GatewayDeps['log'];
  /** How long a gateway's reservations remain after its last heartbeat. */
  readonly leaseMs?: number;
}

/** One counter. */
interface Window {
  readonly key: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** A limit in the current window. */
interface Wanted extends Window {
  readonly limit: Limit;
  /** Amount that the call uses; null means one request. */
  readonly amount: number | null;
}

/** Changes to a counter that are not written yet. */
interface Owed extends Window {
  used: number;
  freed: number;
}

const LEASE_MS = 30_000;
const SIGNS_A_LEASE = 3;
const SETTLE_MS = 250;
/** Pause between attempts while the database is unavailable. */
const AGAIN_MS = 2000;
/** No call uses more tokens or millionths than this, and sums of such amounts fit into a column. */
const AMOUNT_MAX = 1e12;
const HELD_MAX = 1e15;

const RESERVE = `SELECT * FROM control.ai_reserve($1, $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[],
  $6::bigint[], $7::bigint[], $8::bigint[])`;
const SETTLE = `SELECT control.ai_settle($1, $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::bigint[])`;
const LIVE = `
  INSERT INTO control.ai_holder (id, lease_until) VALUES ($1, clock_timestamp() + $2 * interval '1 ms')
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`;
const END = `
  WITH gone AS (DELETE FROM control.ai_holder WHERE id = $1 RETURNING id)
  DELETE FROM control.ai_held WHERE holder IN (SELECT id FROM gone)`;

/** Resolves when the ledger is ready. @throws {PostgresError} when the database is unavailable. */
export async function createPostgresLedger(deps: Deps): Promise<Ledger & { close(): Promise<void> }> {
  const { sql, now, log, leaseMs = LEASE_MS } = deps;
  const holder = randomUUID();
  const owed = new Map<string, Owed>();
  /** Calls that hold, or are about to hold, a reservation on a counter. */
  const holding = new Map<string, number>();
  /** Counters that may hold more than the known calls, because the result of a statement is unknown. */
  const doubtful = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let settling: Promise<void> = Promise.resolve();

  const live = (): Promise<unknown> => sql.all(LIVE, holder, leaseMs);
  await live();
  const signs = setInterval(() => {
    live().catch((error: unknown) => log('warn', 'the ledger could not send its heartbeat', { code: sqlState(error) }));
  }, leaseMs / SIGNS_A_LEASE);

  function owe(more: Owed): void {
    const id = idOf(more);
    const one = owed.get(id);
    if (one === undefined) owed.set(id, { ...more });
    else {
      one.used += more.used;
      one.freed += more.freed;
    }
  }

  function take(id: string): Owed | undefined {
    const found = owed.get(id);
    owed.delete(id);
    return found;
  }

  /** A call releases its reservation. @param freed the reserved amount */
  function leave(window: Window, used: number, freed: number): void {
    const id = idOf(window);
    const others = (holding.get(id) ?? 0) - 1;
    if (others > 0) holding.set(id, others);
    else holding.delete(id);
    // The last release also frees reservations whose result is unknown.
    const isAll = others <= 0 && doubtful.delete(id);
    if (!isAll && used === 0 && freed === 0) return;
    owe({ ...window, used, freed: isAll ? HELD_MAX : freed });
    later();
  }

  const settle = (): Promise<void> => (settling = settling.then(settleAll, settleAll));
  const later = (ms: number = SETTLE_MS): void => {
    timer ??= setTimeout(() => void settle().catch(() => {}), ms);
  };

  async function settleAll(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const all = [...owed.values()];
    if (all.length === 0) return;
    owed.clear();
    try {
      await sql.all(
        SETTLE,
        holder,
        ...columnsOf(all),
        all.map(({ used }) => used),
        all.map(({ freed }) => freed),
      );
    } catch (error) {
      for (const one of all) owe(one);
      log('warn', 'usage of AI calls could not be counted yet', { code: sqlState(error) });
      later(AGAIN_MS);
      throw error;
    }
  }

  return {
    async reserve(caller, estimate) {
      const at = now();
      const wanted = wantedOf(caller, await deps.limitsOf(caller), estimate, at);
      if (wanted.length === 0) return { isBounded: false, requests: null, tokens: null, settle() {} };
      const held = wanted.flatMap(({ amount, ...window }) => (amount === null ? [] : [{ ...window, amount }]));
      for (const window of held) holding.set(idOf(window), (holding.get(idOf(window)) ?? 0) + 1);
      const due = wanted.map((one) => take(idOf(one)));
      let rows: readonly { readonly used: number; readonly held: number; readonly is_taken: boolean }[];
      try {
        rows = await sql.all(
          RESERVE,
          holder,
          ...columnsOf(wanted),
          due.map((one) => one?.used ?? 0),
          due.map((one) => one?.freed ?? 0),
          wanted.map(({ limit }) => limit.most),
          wanted.map(({ amount }) => amount),
        );
      } catch (error) {
        for (const one of due) if (one !== undefined) owe(one);
        if (isConnectionError(error)) for (const window of held) doubtful.add(idOf(window));
        for (const window of held) leave(window, 0, 0);
        throw error;
      }
      const isTaken = rows[0]!.is_taken;
      const rooms = wanted.map(({ limit, amount, endsAt }, n): Room => {
        const { used, held } = rows[n]!;
        const [more, moreHeld] = !isTaken ? [0, 0] : amount === null ? [1, 0] : [0, amount];
        return { limit, counter: { endsAt, used: used + more, reserved: held + moreHeld } };
      });
      if (!isTaken) {
        for (const window of held) leave(window, 0, 0);
        return rooms.map((room, n) => refusalOf(room, wanted[n]!.amount, at)).find((refusal) => refusal !== null)!;
      }
      let isSettled = false;
      return {
        isBounded: held.length > 0,
        requests: nearest(rooms, 'requests', at),
        tokens: nearest(rooms, 'tokens', at),
        settle(used) {
          if (isSettled) return;
          isSettled = true;
          for (const { limit, amount, ...window } of held)
            leave(window, used === null ? 0 : countedOf(limit, used)!, amount);
        },
      };
    },
    async close() {
      clearInterval(signs);
      await settle().catch(() => {});
      if (timer !== null) clearTimeout(timer);
      await sql.all(END, holder).catch(() => {});
    },
  };
}

/** Merges limits on the same counter into the smallest. */
function wantedOf(caller: Caller, limits: readonly Limit[], estimate: Spend, at: number): Wanted[] {
  const byKey = new Map<string, Wanted>();
  for (const limit of limits) {
    const key = keyOf(caller, limit);
    if (key === null || !applies(limit, estimate) || (byKey.get(key)?.limit.most ?? Infinity) <= limit.most) continue;
    byKey.set(key, { limit, amount: countedOf(limit, estimate), key, ...windowOf(limit.per, at) });
  }
  return [...byKey.values()];
}

const idOf = ({ key, startsAt }: Window): string => `${key} ${startsAt}`;

const columnsOf = (all: readonly Window[]) =>
  [
    all.map(({ key }) => key),
    all.map(({ startsAt }) => new Date(startsAt).toISOString()),
    all.map(({ endsAt }) => new Date(endsAt).toISOString()),
  ] as const;

/** The amount as an integer that the columns can store. */
function countedOf(limit: Limit, { promptTokens, completionTokens, costMicros }: Spend): number | null {
  const spend = {
    promptTokens: count(promptTokens),
    completionTokens: count(completionTokens),
    costMicros: count(costMicros),
  };
  const amount = amountOf(limit, spend);
  return amount === null ? null : Math.min(AMOUNT_MAX, amount);
}

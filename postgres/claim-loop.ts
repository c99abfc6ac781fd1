// The loop behind queues, timers, cron and workflows: claims due rows with a lease, processes them, and renews the
// leases in the meantime. Lanes of different namespaces take turns (due-lanes.ts). The rows come from a `ClaimSource`,
// so this file has no SQL. A notification (wake) starts the loop immediately, and a slow poll compensates for lost
// notifications. Claims of a dead member are due again when their lease expires, or when its death is known.
import { DueLanes } from './due-lanes.ts';
import type { Wake } from './wake.ts';

/** Columns the loop needs. */
export interface ClaimedRow {
  readonly seq: number;
  readonly lane_id: number;
  /** The lease under which the row is claimed. */
  readonly lease: string;
  /** Upper limit of the lane's rows that could have been claimed at that moment. */
  readonly room: number;
  /** How often the row was claimed: 1 for the first claim. */
  readonly attempt: number;
}

/** Source of claimed rows. Times are milliseconds since 1970. */
export interface ClaimSource<Row extends ClaimedRow> {
  readonly kind: string;
  /**
   * Every lane, or the given lanes, with the due time of its first row (for a claimed row, when its lease expires),
   * null for an empty lane.
   */
  scan(
    lanes?: readonly number[],
  ): Promise<readonly { readonly lane: number; readonly namespace: string; readonly due_at: number | null }[]>;
  /** Claims up to `perLane` due rows of each lane until `until`. */
  claim(lanes: readonly number[], perLane: number, lease: string, now: number, until: number): Promise<Row[]>;
  /** Extends a member's leases; returns the leases that are still held. */
  renew(seqs: readonly number[], member: string, until: number): Promise<number[]>;
  /**
   * Releases a claimed row until `dueAt`; `counted` is whether the claim counts as an attempt. Returns false if the
   * claim is no longer valid.
   */
  release(row: Row, dueAt: number, counted: boolean): Promise<boolean>;
  /** Names of the members that hold claims. */
  members(): Promise<string[]>;
  /** Makes the claims of a dead member due. */
  takeOver(member: string, now: number): Promise<void>;
}

/** Processing of claimed rows. */
export interface Work<Row> {
  /** Groups rows that are processed together. */
  group(rows: readonly Row[]): readonly Row[][];
  /**
   * Processes one group and stores its results.
   *
   * @param signal aborts when the lease is lost or the loop has to end.
   */
  run(rows: readonly Row[], signal: AbortSignal): Promise<LaneAdvice>;
}

/** Advice for the loop about a lane, after a group of its rows. */
export interface LaneAdvice {
  /** How long to claim nothing from this lane, because it has no consumer. */
  readonly restMs?: number;
  /** Whether other rows of the lane can be claimed now, because these rows no longer block them. */
  readonly more?: boolean;
}

interface ClaimLoopOptions<Row extends ClaimedRow> {
  readonly source: ClaimSource<Row>;
  readonly work: Work<Row>;
  readonly wake: Wake;
  /** Name of this member, without a dot. Each claim has its own lease: the name, a dot and a number. */
  readonly member: string;
  /** Whether another member is known to have died. */
  readonly isGone: (member: string) => boolean;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Rows processed concurrently. */
  readonly inFlightMax: number;
  readonly now: () => number;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** A running loop. */
export interface ClaimLoop {
  readonly inFlight: number;
  /** Claims no further rows, waits for running work up to this time, then aborts it. */
  close(drainMs: number): Promise<void>;
}

/** Maximum share of time for scans. */
const SCAN_SHARE = 0.05;

export async function startClaimLoop<Row extends ClaimedRow>(options: ClaimLoopOptions<Row>): Promise<ClaimLoop> {
  const { source, work, member, now } = options;
  /** Lanes that may claim no more rows until some of their rows are finished. */
  const full = new Set<number>();
  const running = new Map<number, AbortController>();
  /** Number of rows of each namespace being processed. */
  const working = new Map<string, number>();
  /**
   * Rows that were claimed again while they are being processed: a timer that its handler set again. A row that is
   * claimed again waits for the end of its first processing.
   */
  const overlapping = new Map<number, Row>();
  let claims = 0;
  const ended = new AbortController();
  let claiming: Promise<void> | null = null;
  let again = false;
  let closed = false;
  let idle: (() => void) | null = null;
  const due = new DueLanes({ now, onDue: turn });

  /**
   * Number of further rows that a namespace may claim. It leaves as many rows free as it takes, so that slow events of
   * one namespace do not block the others.
   */
  function roomOf(namespace: string): number {
    return Math.ceil((options.inFlightMax - running.size - (working.get(namespace) ?? 0)) / 2);
  }

  function turn(): void {
    if (closed) return;
    if (claiming !== null) {
      again = true;
      return;
    }
    claiming = claimAll().finally(() => {
      claiming = null;
      if (again && !closed) {
        again = false;
        turn();
      }
    });
  }

  async function claimAll(): Promise<void> {
    while (!closed && !due.isEmpty && running.size < options.inFlightMax) {
      const { lanes, perLane } = due.take(options.inFlightMax - running.size, roomOf);
      if (lanes.length === 0) return;
      let rows: Row[];
      try {
        rows = await source.claim(lanes, perLane, `${member}.${(claims += 1)}`, now(), now() + options.leaseMs);
      } catch (error) {
        // The next poll finds the lanes of a failed claim again.
        if (!closed) options.onTrouble(`${source.kind} claim failed`, error);
        return;
      }
      const counts = new Map<number, number>();
      for (const row of rows) {
        const count = (counts.get(row.lane_id) ?? 0) + 1;
        counts.set(row.lane_id, count);
        if (count === row.room) full.add(row.lane_id);
        else if (count === perLane) due.markReady(row.lane_id);
      }
      for (const row of rows) if (running.has(row.seq)) overlapping.set(row.seq, row);
      for (const group of work.group(rows.filter(({ seq }) => !running.has(seq)))) void start(group);
      const unknown = lanes.filter(
        (lane) => (counts.get(lane) ?? 0) < perLane && !full.has(lane) && due.elapsed.delete(lane),
      );
      if (unknown.length > 0) await look(unknown, counts);
    }
  }

  /**
   * Finds when the next row is due, of the given lanes or of all lanes. @param claimed rows that lanes have just
   * returned.
   */
  async function look(lanes?: readonly number[], claimed?: ReadonlyMap<number, number>): Promise<void> {
    try {
      for (const { lane, namespace, due_at: dueAt } of await source.scan(lanes)) {
        due.namespaces.set(lane, namespace);
        if (dueAt === null) continue;
        // If a lane has due rows and the claim returned none of them, they are waiting for another condition than their
        // time.
        if (dueAt <= now() && claimed?.has(lane) !== false) due.elapsed.add(lane);
        due.mark(lane, dueAt);
      }
    } catch (error) {
      if (!closed) options.onTrouble(`${source.kind} scan failed`, error);
    }
  }

  async function start(rows: readonly Row[]): Promise<void> {
    const lane = rows[0]!.lane_id;
    const control = new AbortController();
    for (const { seq } of rows) running.set(seq, control);
    const namespace = due.namespaces.get(lane) ?? '';
    working.set(namespace, (working.get(namespace) ?? 0) + rows.length);
    let advice: LaneAdvice = {};
    try {
      advice = await work.run(rows, control.signal);
    } catch (error) {
      options.onTrouble(`${source.kind} events not settled`, error);
    }
    const others = working.get(namespace)! - rows.length;
    if (others > 0) working.set(namespace, others);
    else working.delete(namespace);
    for (const { seq } of rows) {
      running.delete(seq);
      const row = overlapping.get(seq);
      if (row === undefined) continue;
      overlapping.delete(seq);
      await source.release(row, now(), false).then(
        (held) => held && due.markReady(lane),
        // Nothing to do on failure: the lease expires.
        () => {},
      );
    }
    const wasFull = full.delete(lane);
    if (advice.restMs !== undefined) due.rest(lane, advice.restMs);
    else if (wasFull || advice.more === true) due.markReady(lane);
    if (running.size === 0) idle?.();
    turn();
  }

  async function poll(): Promise<void> {
    for (;;) {
      const began = performance.now();
      await look();
      try {
        for (const other of await source.members())
          if (other !== member && options.isGone(other)) await source.takeOver(other, now());
      } catch (error) {
        if (!closed) options.onTrouble(`${source.kind} takeover of leases failed`, error);
      }
      turn();
      const took = performance.now() - began;
      if (!(await pause(Math.max(options.pollMs, took / SCAN_SHARE), ended.signal))) return;
    }
  }

  async function renew(): Promise<void> {
    while (await pause(options.leaseMs / 3, ended.signal)) {
      const held = [...running];
      if (held.length === 0) continue;
      try {
        const kept = new Set(
          await source.renew(
            held.map(([seq]) => seq),
            member,
            now() + options.leaseMs,
          ),
        );
        // Losing the lease of one row aborts its whole group, because the rows are delivered together.
        for (const [seq, control] of held)
          if (!kept.has(seq) && running.get(seq) === control) control.abort(new Error('lease lost'));
      } catch (error) {
        options.onTrouble(`${source.kind} lease renewal failed`, error);
      }
    }
  }

  const listening = await options.wake.listen((kind, lane, dueAt) => {
    if (kind !== source.kind || closed) return;
    due.mark(lane, dueAt);
    turn();
  });
  const loops = [poll(), renew()];

  return {
    get inFlight() {
      return running.size;
    },
    async close(drainMs) {
      closed = true;
      due.close();
      await listening.close();
      await claiming;
      if (running.size > 0) {
        const drained = new Promise<void>((resolve) => (idle = resolve));
        const late = setTimeout(() => {
          for (const control of running.values()) control.abort(new Error('broker stopped'));
        }, drainMs);
        await drained;
        clearTimeout(late);
      }
      ended.abort();
      await Promise.all(loops);
    },
  };
}

/** Resolves with true after a time, or with false immediately when the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve(true);
    }, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

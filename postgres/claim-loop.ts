// The one loop behind queues, timers, cron and workflows: claims rows that are due under a lease, has them worked on,
// renews the leases while that lasts. Lanes of different namespaces take turns. No SQL here: the rows come from a
// `ClaimSource`. A notification (wake) starts it at once, a slow poll makes up for lost ones, and what somebody who
// died had claimed is due again when the lease ends, or as soon as it is known that he is gone.
import type { Wake } from './wake.ts';

/** Columns the loop needs. */
export interface ClaimedRow {
  readonly seq: number;
  readonly lane_id: number;
  /** The claim it was made under. */
  readonly lease: string;
  /** Rows of the lane that could have been claimed at that moment, at most. */
  readonly room: number;
  /** 1 for the first claim. */
  readonly attempt: number;
}

/** Where claimed rows come from. Times are milliseconds since 1970. */
export interface ClaimSource<Row extends ClaimedRow> {
  readonly kind: string;
  /**
   * Every lane, or these, with the time its first row is due (a claimed one: when its lease ends), null for an empty
   * one.
   */
  scan(
    lanes?: readonly number[],
  ): Promise<readonly { readonly lane: number; readonly namespace: string; readonly due_at: number | null }[]>;
  /** Claims up to `perLane` due rows of each lane until `until`. */
  claim(lanes: readonly number[], perLane: number, lease: string, now: number, until: number): Promise<Row[]>;
  /** Moves the end of a member's leases; returns those that are still held. */
  renew(seqs: readonly number[], member: string, until: number): Promise<number[]>;
  /**
   * Lets a claimed row go until `dueAt`; not counted: as if it had not been claimed. False: its claim does not hold any
   * more.
   */
  release(row: Row, dueAt: number, counted: boolean): Promise<boolean>;
  /** The members whose claims there are. */
  members(): Promise<string[]>;
  /** Makes due what a member has claimed who is gone. */
  takeOver(member: string, now: number): Promise<void>;
}

/** What becomes of claimed rows. */
export interface Work<Row> {
  /** Parts rows into what is worked on together. */
  group(rows: readonly Row[]): readonly Row[][];
  /**
   * Works on one group and writes down what became of it.
   *
   * @param signal aborts when the lease is lost or the loop has to end.
   */
  run(rows: readonly Row[], signal: AbortSignal): Promise<LaneAdvice>;
}

/** What the loop should know of a lane after a group of its rows. */
export interface LaneAdvice {
  /** This lane has no consumer for so long. */
  readonly restMs?: number;
  /** Rows that were held back by these may be claimed now. */
  readonly more?: boolean;
}

interface ClaimLoopOptions<Row extends ClaimedRow> {
  readonly source: ClaimSource<Row>;
  readonly work: Work<Row>;
  readonly wake: Wake;
  /** Whose claims these are; without a dot. Each claim has a lease of its own: the name, a dot and a number. */
  readonly member: string;
  /** Whether another member is known to be gone. */
  readonly isGone: (member: string) => boolean;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Rows worked on at a time. */
  readonly inFlightMax: number;
  readonly now: () => number;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** A running loop. */
export interface ClaimLoop {
  readonly inFlight: number;
  /** Claims nothing more, lets what runs end for up to so long, then aborts it. */
  close(drainMs: number): Promise<void>;
}

const LANES_PER_CLAIM = 16;
const PER_LANE_MAX = 50;
/** A scan may take this part of the time. */
const SCAN_SHARE = 0.05;
const TIMER_MS_MAX = 60_000;

export async function startClaimLoop<Row extends ClaimedRow>(options: ClaimLoopOptions<Row>): Promise<ClaimLoop> {
  const { source, work, member, now } = options;
  /** Lanes with something due, by namespace; both in the order of their turns. */
  const ready = new Map<string, Set<number>>();
  const namespaces = new Map<number, string>();
  /** Lanes with something due later. */
  const later = new Map<number, number>();
  const resting = new Map<number, number>();
  /** Lanes whose room was used up: they may go on when something of theirs ends. */
  const full = new Set<number>();
  const running = new Map<number, AbortController>();
  /** Rows of each namespace that are worked on. */
  const working = new Map<string, number>();
  /**
   * Lanes that became due by time: their next time is not known. It is looked for once nothing of theirs is due any
   * more.
   */
  const elapsed = new Set<number>();
  /** Rows that were claimed anew while we work on them: a timer that its handler set again. They wait for its end. */
  const overlapping = new Map<number, Row>();
  let claims = 0;
  const ended = new AbortController();
  let claiming: Promise<void> | null = null;
  let again = false;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  /** The time of `later` that it waits for; below all of them while they are being gone through. */
  let armedFor = Infinity;
  let idle: (() => void) | null = null;

  function markReady(lane: number): void {
    const rest = resting.get(lane);
    if (rest !== undefined && rest > now()) return markLater(lane, rest);
    resting.delete(lane);
    const namespace = namespaces.get(lane) ?? '';
    let lanes = ready.get(namespace);
    if (lanes === undefined) ready.set(namespace, (lanes = new Set()));
    lanes.add(lane);
  }

  function markLater(lane: number, dueAt: number): void {
    if (dueAt < (later.get(lane) ?? Infinity)) later.set(lane, dueAt);
    // Not once a lane: a look at all of them would take the square of their number.
    if (dueAt < armedFor) arm();
  }

  function mark(lane: number, dueAt: number): void {
    if (dueAt <= now()) markReady(lane);
    else markLater(lane, dueAt);
  }

  /** Wakes at the first of the later times. */
  function arm(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    let first = Infinity;
    for (const dueAt of later.values()) if (dueAt < first) first = dueAt;
    armedFor = first;
    if (closed || first === Infinity) return;
    timer = setTimeout(
      () => {
        timer = null;
        armedFor = -Infinity;
        for (const [lane, dueAt] of later) {
          if (dueAt > now()) continue;
          later.delete(lane);
          elapsed.add(lane);
          markReady(lane);
        }
        arm();
        turn();
      },
      Math.min(Math.max(0, first - now()) + 1, TIMER_MS_MAX),
    );
  }

  /**
   * Rows that a namespace may add: no more than would be left free, so that events which take long leave room for
   * others'.
   */
  function roomOf(namespace: string): number {
    return Math.ceil((options.inFlightMax - running.size - (working.get(namespace) ?? 0)) / 2);
  }

  /** The next lanes, one of each namespace in turn, and how many rows of each. */
  function take(): { lanes: number[]; perLane: number } {
    const lanes: number[] = [];
    const taken = new Map<string, number>();
    let left = [...ready.keys()].filter((namespace) => roomOf(namespace) > 0);
    while (lanes.length < LANES_PER_CLAIM && left.length > 0) {
      const next: string[] = [];
      for (const namespace of left) {
        if (lanes.length === LANES_PER_CLAIM) break;
        const waiting = ready.get(namespace)!;
        const [lane] = waiting;
        waiting.delete(lane!);
        lanes.push(lane!);
        const count = (taken.get(namespace) ?? 0) + 1;
        taken.set(namespace, count);
        // To the end of the row.
        ready.delete(namespace);
        if (waiting.size > 0) ready.set(namespace, waiting);
        if (waiting.size > 0 && count < roomOf(namespace)) next.push(namespace);
      }
      left = next;
    }
    let perLane = Math.min(PER_LANE_MAX, Math.floor((options.inFlightMax - running.size) / lanes.length));
    for (const [namespace, count] of taken) perLane = Math.min(perLane, Math.floor(roomOf(namespace) / count));
    return { lanes, perLane: Math.max(1, perLane) };
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
    while (!closed && ready.size > 0 && running.size < options.inFlightMax) {
      const { lanes, perLane } = take();
      if (lanes.length === 0) return;
      let rows: Row[];
      try {
        rows = await source.claim(lanes, perLane, `${member}.${(claims += 1)}`, now(), now() + options.leaseMs);
      } catch (error) {
        // The poll finds these lanes again.
        if (!closed) options.onTrouble(`${source.kind} claim failed`, error);
        return;
      }
      const counts = new Map<number, number>();
      for (const row of rows) {
        const count = (counts.get(row.lane_id) ?? 0) + 1;
        counts.set(row.lane_id, count);
        if (count === row.room) full.add(row.lane_id);
        else if (count === perLane) markReady(row.lane_id);
      }
      for (const row of rows) if (running.has(row.seq)) overlapping.set(row.seq, row);
      for (const group of work.group(rows.filter(({ seq }) => !running.has(seq)))) void start(group);
      const due = lanes.filter((lane) => (counts.get(lane) ?? 0) < perLane && !full.has(lane) && elapsed.delete(lane));
      if (due.length > 0) await look(due, counts);
    }
  }

  /** Looks when something of these lanes, or of any, is due next. @param claimed rows that lanes have just given. */
  async function look(lanes?: readonly number[], claimed?: ReadonlyMap<number, number>): Promise<void> {
    try {
      for (const { lane, namespace, due_at: dueAt } of await source.scan(lanes)) {
        namespaces.set(lane, namespace);
        if (dueAt === null) continue;
        // Of one that gave nothing, what is due waits for something else.
        if (dueAt <= now() && claimed?.has(lane) !== false) elapsed.add(lane);
        mark(lane, dueAt);
      }
    } catch (error) {
      if (!closed) options.onTrouble(`${source.kind} scan failed`, error);
    }
  }

  async function start(rows: readonly Row[]): Promise<void> {
    const lane = rows[0]!.lane_id;
    const control = new AbortController();
    for (const { seq } of rows) running.set(seq, control);
    const namespace = namespaces.get(lane) ?? '';
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
        (held) => held && markReady(lane),
        // Its lease ends by itself.
        () => {},
      );
    }
    const wasFull = full.delete(lane);
    if (advice.restMs !== undefined) rest(lane, advice.restMs);
    else if (wasFull || advice.more === true) markReady(lane);
    if (running.size === 0) idle?.();
    turn();
  }

  function rest(lane: number, ms: number): void {
    resting.set(lane, now() + ms);
    for (const [namespace, lanes] of ready) if (lanes.delete(lane) && lanes.size === 0) ready.delete(namespace);
    markLater(lane, now() + ms);
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
        // Others of its group may still be ours, but the delivery is one.
        for (const [seq, control] of held)
          if (!kept.has(seq) && running.get(seq) === control) control.abort(new Error('lease lost'));
      } catch (error) {
        options.onTrouble(`${source.kind} lease renewal failed`, error);
      }
    }
  }

  const listening = await options.wake.listen((kind, lane, dueAt) => {
    if (kind !== source.kind || closed) return;
    mark(lane, dueAt);
    turn();
  });
  const loops = [poll(), renew()];

  return {
    get inFlight() {
      return running.size;
    },
    async close(drainMs) {
      closed = true;
      if (timer !== null) clearTimeout(timer);
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

/** Resolves with true after a time, with false at once when the signal aborts. */
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

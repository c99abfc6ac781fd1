// The lanes of a claim loop that have due rows, and the lane that is next: one lane of each namespace after the other.
// This file has the timer for lanes that are due later. This file has no SQL and no claims (see claim-loop.ts).

const LANES_PER_CLAIM = 16;
const PER_LANE_MAX = 50;
const TIMER_MS_MAX = 60_000;

interface DueLanesOptions {
  readonly now: () => number;
  /** Called when the time of a lane has come. */
  readonly onDue: () => void;
}

/** The lanes of one loop. Times are milliseconds since 1970. */
export class DueLanes {
  /** Namespaces of known lanes. */
  readonly namespaces = new Map<number, string>();
  /**
   * Lanes that became due by time: their next time is unknown. The next time is looked up when such a lane has no more
   * due rows.
   */
  readonly elapsed = new Set<number>();
  /** Lanes with due rows, by namespace; both in the order of their turns. */
  #ready = new Map<string, Set<number>>();
  /** Lanes with rows due later. */
  #later = new Map<number, number>();
  #resting = new Map<number, number>();
  #timer: NodeJS.Timeout | null = null;
  /** The time in `#later` for which the timer is set; -Infinity while they are being processed. */
  #armedFor = Infinity;
  #closed = false;
  #now: () => number;
  #onDue: () => void;

  constructor({ now, onDue }: DueLanesOptions) {
    this.#now = now;
    this.#onDue = onDue;
  }

  /** Whether no lane has due rows. */
  get isEmpty(): boolean {
    return this.#ready.size === 0;
  }

  /** Records when a lane's next row is due. */
  mark(lane: number, dueAt: number): void {
    if (dueAt <= this.#now()) this.markReady(lane);
    else this.#markLater(lane, dueAt);
  }

  /** Records that a lane has due rows. A resting lane becomes ready when its rest has ended. */
  markReady(lane: number): void {
    const rest = this.#resting.get(lane);
    if (rest !== undefined && rest > this.#now()) return this.#markLater(lane, rest);
    this.#resting.delete(lane);
    const namespace = this.namespaces.get(lane) ?? '';
    let lanes = this.#ready.get(namespace);
    if (lanes === undefined) this.#ready.set(namespace, (lanes = new Set()));
    lanes.add(lane);
  }

  /** Lets a lane rest: nothing is claimed from it for this long. */
  rest(lane: number, ms: number): void {
    this.#resting.set(lane, this.#now() + ms);
    for (const [namespace, lanes] of this.#ready)
      if (lanes.delete(lane) && lanes.size === 0) this.#ready.delete(namespace);
    this.#markLater(lane, this.#now() + ms);
  }

  /**
   * The next lanes, one of each namespace in turn, and the number of rows for each.
   *
   * @param free the total number of rows that may be claimed. @param roomOf the number of these rows that a namespace
   * may have.
   */
  take(free: number, roomOf: (namespace: string) => number): { lanes: number[]; perLane: number } {
    const lanes: number[] = [];
    const taken = new Map<string, number>();
    let left = [...this.#ready.keys()].filter((namespace) => roomOf(namespace) > 0);
    while (lanes.length < LANES_PER_CLAIM && left.length > 0) {
      const next: string[] = [];
      for (const namespace of left) {
        if (lanes.length === LANES_PER_CLAIM) break;
        const waiting = this.#ready.get(namespace)!;
        const [lane] = waiting;
        waiting.delete(lane!);
        lanes.push(lane!);
        const count = (taken.get(namespace) ?? 0) + 1;
        taken.set(namespace, count);
        // Moves the namespace to the end of the order.
        this.#ready.delete(namespace);
        if (waiting.size > 0) this.#ready.set(namespace, waiting);
        if (waiting.size > 0 && count < roomOf(namespace)) next.push(namespace);
      }
      left = next;
    }
    let perLane = Math.min(PER_LANE_MAX, Math.floor(free / lanes.length));
    for (const [namespace, count] of taken) perLane = Math.min(perLane, Math.floor(roomOf(namespace) / count));
    return { lanes, perLane: Math.max(1, perLane) };
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #markLater(lane: number, dueAt: number): void {
    if (dueAt < (this.#later.get(lane) ?? Infinity)) this.#later.set(lane, dueAt);
    // The timer is not set for each lane, because checking all of them every time would be quadratic.
    if (dueAt < this.#armedFor) this.#arm();
  }

  /** Sets the timer for the earliest later time. */
  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    let first = Infinity;
    for (const dueAt of this.#later.values()) if (dueAt < first) first = dueAt;
    this.#armedFor = first;
    if (this.#closed || first === Infinity) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#armedFor = -Infinity;
        for (const [lane, dueAt] of this.#later) {
          if (dueAt > this.#now()) continue;
          this.#later.delete(lane);
          this.elapsed.add(lane);
          this.markReady(lane);
        }
        this.#arm();
        this.#onDue();
      },
      Math.min(Math.max(0, first - this.#now()) + 1, TIMER_MS_MAX),
    );
  }
}

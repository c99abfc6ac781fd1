// Batches calls to the database: one flush takes all calls of a tick of the event loop, and the next flush takes all
// calls that arrived during the first one. A single call does not wait. Used by the stores over Postgres, where a round
// trip and a commit cost more than the data. Independent of the kind of data.

interface BatcherOptions<Item> {
  /** Sends these items and settles each; never rejects. */
  readonly flush: (items: readonly Item[]) => Promise<void>;
  /** Maximum number of items of one flush. */
  readonly itemsMax: number;
  /** Maximum number of concurrent flushes. Further flushes only begin if the first one takes long. */
  readonly flushesMax: number;
  /** How long an item waits for a running flush before it gets a separate flush. */
  readonly waitMs: number;
  /** Returns the size of an item; one flush takes items up to `sizeMax`, or a single larger item. */
  readonly sizeOf?: (item: Item) => number;
  readonly sizeMax?: number;
  /**
   * Returns the key of an item. Only one flush at a time has items with the same key, so that they keep their order.
   */
  readonly keyOf?: (item: Item) => string;
}

interface Batcher<Item> {
  add(item: Item): void;
}

export function createBatcher<Item>(options: BatcherOptions<Item>): Batcher<Item> {
  const { itemsMax, flushesMax, waitMs, sizeOf = () => 0, sizeMax = Infinity, keyOf } = options;
  let waiting: Item[] = [];
  const keysInFlight = new Set<string>();
  let flushes = 0;
  let isScheduled = false;
  let isTimerSet = false;

  /** The items of the next flush; none if the keys of all waiting items are in flight. */
  function take(): Item[] {
    const taken: Item[] = [];
    const left: Item[] = [];
    let size = 0;
    let at = 0;
    for (; at < waiting.length && taken.length < itemsMax; at++) {
      const item = waiting[at] as Item;
      if (keyOf !== undefined && keysInFlight.has(keyOf(item))) left.push(item);
      else if (taken.length > 0 && size + sizeOf(item) > sizeMax) break;
      else {
        size += sizeOf(item);
        taken.push(item);
      }
    }
    for (; at < waiting.length; at++) left.push(waiting[at] as Item);
    waiting = left;
    return taken;
  }

  function flush(): void {
    isScheduled = false;
    const items = take();
    if (items.length === 0) return;
    flushes++;
    const keys = keyOf === undefined ? [] : items.map(keyOf);
    for (const key of keys) keysInFlight.add(key);
    void options.flush(items).finally(() => {
      flushes--;
      for (const key of keys) keysInFlight.delete(key);
      if (waiting.length > 0 && !isScheduled) flush();
    });
    if (waiting.length > 0) setTimer();
  }

  /** A slow flush, which may wait for a lock, must not delay others. */
  function setTimer(): void {
    if (isTimerSet) return;
    isTimerSet = true;
    setTimeout(() => {
      isTimerSet = false;
      if (waiting.length === 0) return;
      if (flushes < flushesMax) flush();
      else setTimer();
    }, waitMs).unref();
  }

  return {
    add(item) {
      waiting.push(item);
      if (flushes > 0) return setTimer();
      if (isScheduled) return;
      isScheduled = true;
      queueMicrotask(flush);
    },
  };
}

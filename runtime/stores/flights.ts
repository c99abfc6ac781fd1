// Puts together what comes together: one trip to the database for all that a turn of the event loop asks for, and for
// all that comes while a trip is under way. Alone, nothing waits. Used by the stores over Postgres, where a trip and a
// commit cost more than what they carry. It knows nothing of what it carries.

/** How trips are made. */
interface FlightOptions<Item> {
  /** Makes one trip with all of these, and settles each; never rejects. */
  readonly fly: (items: readonly Item[]) => Promise<void>;
  /** Items of one trip. */
  readonly togetherMax: number;
  /** Trips at a time. The second and the others are made only while the first takes long. */
  readonly flightsMax: number;
  /** So long. */
  readonly patienceMs: number;
  /** What an item counts for beside its number; a trip carries up to `sizeMax`, or one item. */
  readonly sizeOf?: (item: Item) => number;
  readonly sizeMax?: number;
  /** What only one trip at a time may carry, so that words on one thing arrive in their order. */
  readonly keyOf?: (item: Item) => string;
}

/** Items on their way. */
interface Flights<Item> {
  add(item: Item): void;
}

export function createFlights<Item>(options: FlightOptions<Item>): Flights<Item> {
  const { fly, togetherMax, flightsMax, patienceMs, sizeOf = () => 0, sizeMax = Infinity, keyOf } = options;
  let waiting: Item[] = [];
  /** Keys under way. */
  const away = new Set<string>();
  let flights = 0;
  let isBoarding = false;
  let isPatient = false;

  /** What goes with the next trip; none when all that waits is about what is under way. */
  function take(): Item[] {
    const taken: Item[] = [];
    const left: Item[] = [];
    let size = 0;
    let at = 0;
    for (; at < waiting.length && taken.length < togetherMax; at++) {
      const item = waiting[at] as Item;
      if (keyOf !== undefined && away.has(keyOf(item))) left.push(item);
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

  function takeOff(): void {
    isBoarding = false;
    const items = take();
    if (items.length === 0) return;
    flights++;
    const keys = keyOf === undefined ? [] : items.map(keyOf);
    for (const key of keys) away.add(key);
    void fly(items).finally(() => {
      flights--;
      for (const key of keys) away.delete(key);
      if (waiting.length > 0 && !isBoarding) takeOff();
    });
    if (waiting.length > 0) wait();
  }

  /** One that takes long must not hold up all others: it may wait for somebody's lock. */
  function wait(): void {
    if (isPatient) return;
    isPatient = true;
    setTimeout(() => {
      isPatient = false;
      if (waiting.length === 0) return;
      if (flights < flightsMax) takeOff();
      else wait();
    }, patienceMs).unref();
  }

  return {
    add(item) {
      waiting.push(item);
      if (flights > 0) return wait();
      if (isBoarding) return;
      isBoarding = true;
      queueMicrotask(takeOff);
    },
  };
}

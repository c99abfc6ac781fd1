// Puts together what comes together: one trip to the database for all that a turn of the event loop asks for, and for all that comes
// while a trip is under way. Alone, nothing waits. Used by the stores over Postgres, where a trip and a commit cost more than what
// they carry. It knows nothing of what it carries.

/** How trips are made. */
export interface FlightOptions<Item> {
  /** Makes one trip with all of these, and settles each; never rejects. */
  readonly fly: (items: readonly Item[]) => Promise<void>;
  /** Items of one trip. */ readonly togetherMax: number;
  /** Trips at a time. The second and the others are made only while the first takes long. */ readonly flightsMax: number;
  /** So long. */ readonly patienceMs: number;
  /** What an item counts for beside its number; a trip carries up to `sizeMax`, or one item. */
  readonly sizeOf?: (item: Item) => number;
  readonly sizeMax?: number;
}

/** Items on their way. */
export interface Flights<Item> {
  add(item: Item): void;
}

export function createFlights<Item>(options: FlightOptions<Item>): Flights<Item> {
  const { fly, togetherMax, flightsMax, patienceMs, sizeOf, sizeMax = Infinity } = options;
  const waiting: Item[] = [];
  let flights = 0;
  let isBoarding = false;
  let isPatient = false;

  function take(): Item[] {
    if (sizeOf === undefined) return waiting.splice(0, togetherMax);
    let [count, size] = [0, 0];
    while (count < waiting.length && count < togetherMax && (count === 0 || size + sizeOf(waiting[count] as Item) <= sizeMax))
      size += sizeOf(waiting[count++] as Item);
    return waiting.splice(0, count);
  }

  function takeOff(): void {
    isBoarding = false;
    if (waiting.length === 0) return;
    flights++;
    void fly(take()).finally(() => {
      flights--;
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

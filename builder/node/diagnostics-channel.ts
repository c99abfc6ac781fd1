// node:diagnostics_channel: named channels within the isolate, and tracing channels over five of them. Bundled into
// workers by node-compat.ts.

type Name = string | symbol;
type Subscriber = (message: unknown, name: Name) => void;
type Fn = (...args: never[]) => unknown;

interface Storage {
  run<R>(store: unknown, callback: () => R): R;
}

const channels = /* @__PURE__ */ new Map<Name, Channel>();

export class Channel {
  readonly name: Name;
  // The list is replaced on each change, so that a publish in progress still uses the old list.
  #subscribers: readonly Subscriber[] = [];
  readonly #stores = new Map<Storage, ((message: unknown) => unknown) | undefined>();

  constructor(name: Name) {
    this.name = name;
  }

  get hasSubscribers(): boolean {
    return this.#subscribers.length > 0 || this.#stores.size > 0;
  }

  subscribe(subscriber: Subscriber): void {
    if (typeof subscriber !== 'function') throw new TypeError('The "subscription" argument must be of type function');
    this.#subscribers = [...this.#subscribers, subscriber];
  }

  unsubscribe(subscriber: Subscriber): boolean {
    const at = this.#subscribers.indexOf(subscriber);
    if (at < 0) return false;
    this.#subscribers = this.#subscribers.toSpliced(at, 1);
    return true;
  }

  publish(message: unknown): void {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(message, this.name);
      } catch (error) {
        // As in Node, a subscriber's error must not affect the publisher.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  bindStore(store: Storage, transform?: (message: unknown) => unknown): void {
    this.#stores.set(store, transform);
  }

  unbindStore(store: Storage): boolean {
    return this.#stores.delete(store);
  }

  runStores<R>(message: unknown, callback: (...args: never[]) => R, self?: unknown, ...args: unknown[]): R {
    let run = (): R => {
      this.publish(message);
      return Reflect.apply(callback, self, args);
    };
    for (const [store, transform] of this.#stores) {
      const inner = run;
      run = () => store.run(transform === undefined ? message : transform(message), inner);
    }
    return run();
  }
}

export function channel(name: Name): Channel {
  const known = channels.get(name);
  if (known !== undefined) return known;
  const made = new Channel(name);
  channels.set(name, made);
  return made;
}

export const subscribe = (name: Name, subscriber: Subscriber): void => channel(name).subscribe(subscriber);
export const unsubscribe = (name: Name, subscriber: Subscriber): boolean => channel(name).unsubscribe(subscriber);
export const hasSubscribers = (name: Name): boolean => channels.get(name)?.hasSubscribers ?? false;

const events = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
type TracingChannels = Readonly<Record<(typeof events)[number], Channel>>;

export class TracingChannel {
  readonly start: Channel;
  readonly end: Channel;
  readonly asyncStart: Channel;
  readonly asyncEnd: Channel;
  readonly error: Channel;

  constructor(given: string | TracingChannels) {
    const find = (event: (typeof events)[number]): Channel =>
      typeof given === 'string' ? channel(`tracing:${given}:${event}`) : given[event];
    this.start = find('start');
    this.end = find('end');
    this.asyncStart = find('asyncStart');
    this.asyncEnd = find('asyncEnd');
    this.error = find('error');
  }

  get hasSubscribers(): boolean {
    return events.some((event) => this[event].hasSubscribers);
  }

  subscribe(subscribers: Readonly<Partial<Record<(typeof events)[number], Subscriber>>>): void {
    for (const event of events) if (subscribers[event] !== undefined) this[event].subscribe(subscribers[event]);
  }

  unsubscribe(subscribers: Readonly<Partial<Record<(typeof events)[number], Subscriber>>>): boolean {
    const removed = events.map(
      (event) => subscribers[event] === undefined || this[event].unsubscribe(subscribers[event]),
    );
    return removed.every(Boolean);
  }

  traceSync(fn: Fn, context: Record<string, unknown> = {}, self?: unknown, ...args: unknown[]): unknown {
    return this.start.runStores(context, () => {
      try {
        context['result'] = Reflect.apply(fn, self, args);
        return context['result'];
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  tracePromise(fn: Fn, context: Record<string, unknown> = {}, self?: unknown, ...args: unknown[]): Promise<unknown> {
    return this.start.runStores(context, () => {
      try {
        return Promise.resolve(Reflect.apply(fn, self, args)).then(
          (value) => {
            context['result'] = value;
            this.#settled(context);
            return value;
          },
          (error: unknown) => {
            this.#failed(context, error);
            this.#settled(context);
            throw error;
          },
        );
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  traceCallback(
    fn: Fn,
    position = -1,
    context: Record<string, unknown> = {},
    self?: unknown,
    ...args: unknown[]
  ): unknown {
    const callback = args.at(position) as (...results: unknown[]) => unknown;
    const traced = (...results: unknown[]): unknown => {
      if (results[0] !== null && results[0] !== undefined) this.#failed(context, results[0]);
      else context['result'] = results[1];
      return this.asyncStart.runStores(context, () => {
        try {
          return callback(...results);
        } finally {
          this.asyncEnd.publish(context);
        }
      });
    };
    args.splice(position, 1, traced);
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(fn, self, args);
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  #failed(context: Record<string, unknown>, error: unknown): void {
    context['error'] = error;
    this.error.publish(context);
  }

  #settled(context: Record<string, unknown>): void {
    this.asyncStart.publish(context);
    this.asyncEnd.publish(context);
  }
}

export function tracingChannel(given: string | TracingChannels): TracingChannel {
  return new TracingChannel(given);
}

export default { Channel, TracingChannel, channel, hasSubscribers, subscribe, tracingChannel, unsubscribe };

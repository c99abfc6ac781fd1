// node:events: unenv's emitter, callable without `new` as Node's is (packages write `EventEmitter.call(this)`), and the
// functions that unenv has only as static methods. Bundled into workers by node-compat.ts.
import { EventEmitter as Base } from 'unenv/node/events';

export * from 'unenv/node/events';

// One function under two names, as in Node: a class that overrides one and calls the other must not call itself.
Object.assign(Base.prototype, { on: Base.prototype.addListener, off: Base.prototype.removeListener });

type Emitter = typeof Base & { (this: object, options?: object): void };

export const EventEmitter: Emitter = /* @__PURE__ */ new Proxy(Base as Emitter, {
  apply(target, self: object | undefined, [options]: [object?]) {
    if (self === undefined) return;
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(fresh(target, options)))) {
      if (!Object.hasOwn(self, key)) Object.defineProperty(self, key, descriptor);
    }
  },
  get: (target, key, receiver) => (key === 'EventEmitter' ? EventEmitter : Reflect.get(target, key, receiver)),
});

/** An emitter with the state of a new one. Node's options type is wider than unenv's constructor. */
function fresh(target: Emitter, options: object | undefined): object {
  return new target(options as never);
}

export const setMaxListeners = Base.setMaxListeners;
export const listenerCount = Base.listenerCount;
export default EventEmitter;

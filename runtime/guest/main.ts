// Entry of the guest: what the V8 snapshot is made of. Installs the globals, and leaves one function behind, which the host
// calls once per isolate to connect the two sides and which deletes itself.
import { connectContext, type Native } from './context.ts';
import { callHost } from './calls.ts';
import { AsyncLocalStorage } from './context.ts';
import { connectDispatch, serve, type Worker } from './dispatch.ts';
import { createEnvironment, type EnvironmentConfig } from './environment.ts';
import { host } from './host.ts';
import { connectStreams } from './streams.ts';
import { connectConsole } from './web/console.ts';
import { installGlobals } from './web/globals.ts';
import { connectTimers } from './web/timers.ts';
import { fetchListener } from './fetch-event.ts';

/** Bounds that guest code applies by itself. */
interface GuestLimits {
  streamWindowBytes: number;
  timersMax: number;
  logBytesMax: number;
}

type Leave = Parameters<typeof connectDispatch>[1];

declare const globalThis: Record<string, unknown>;

installGlobals(globalThis);
Object.defineProperty(globalThis, 'AsyncLocalStorage', { value: AsyncLocalStorage, writable: true, configurable: true, enumerable: false });

globalThis['connect'] = (native: Native, leave: Leave, callSync: typeof host.callSync, limits: GuestLimits) => {
  delete globalThis['connect'];
  // What no tenant may find on its global object. (V8's own `console` has been replaced by ours.)
  connectContext(native);
  connectStreams({ windowBytes: limits.streamWindowBytes });
  connectTimers(limits);
  connectConsole(limits);
  host.call = callHost;
  host.callSync = (name, args, part) => callSync(name, JSON.stringify(args) as never, part);
  host.now = native.now;
  host.randomFill = native.randomFill;
  host.utf8Encode = native.utf8Encode;
  host.utf8Decode = native.utf8Decode;
  connectDispatch(native, leave);
  const startup = { account: { used: 0, limit: 0 }, stores: null };
  return {
    run: native.run,
    /** Before the worker's top level: its CPU counts against the startup limit, in ms, 0 = none. */
    begin: (limitMs: number) => {
      startup.account.limit = limitMs;
      native.begin(startup);
    },
    /** After it: `[cpuMs, breached]`. */
    end: () => {
      const breached = native.end();
      startup.account.limit = 0;
      return breached;
    },
    /** Gives the variables and bindings, before the worker's top level runs. */
    prepare: (config: EnvironmentConfig) => {
      environment = createEnvironment(config);
    },
    /** Starts serving the module that was evaluated. */
    serve: (module: { default?: unknown }, cpuLimitMs: number) => {
      const exported = (module.default ?? {}) as Worker;
      const listener = fetchListener();
      serve(typeof exported.fetch === 'function' || listener === null ? exported : { fetch: listener }, environment, { cpuLimitMs });
      return { fetch: typeof exported.fetch === 'function' || listener !== null };
    },
  };
};

let environment: unknown = {};

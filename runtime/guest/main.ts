// Entry of the guest: what the V8 snapshot is made of. Installs the globals, and leaves one function behind, which the host
// calls once per isolate to connect the two sides and which deletes itself.
import { toHost } from '../bridge/protocol.ts';
import { connectContext, enterContext, type Native } from './context.ts';
import { callHost } from './calls.ts';
import { AsyncLocalStorage } from './context.ts';
import { connectDispatch, eventHandlers, serve, waitUntil, type Worker } from './dispatch.ts';
import { send } from './outbox.ts';
import { startFailure, threw, watchRejections } from './rejections.ts';
import { toJson } from './safe.ts';
import { createEnvironment, type EnvironmentConfig } from './environment.ts';
import { host } from './host.ts';
import { connectNodeHooks, installNodeHooks, type WaitingReference } from './node-hooks.ts';
import { installLazyGlobals, loadEventHandler } from './lazy.ts';
import { connectStreams } from './streams.ts';
import { connectConsole, console } from './web/console.ts';
import { fetch } from './web/fetch.ts';
import { installGlobals } from './web/globals.ts';
import { clearTimeout, connectTimers, scheduler, setImmediate, setInterval, setTimeout } from './web/timers.ts';
import { installWasmStreaming } from './web/wasm-streaming.ts';
import { fetchListener, globalEvents } from './fetch-event.ts';

/** Bounds that guest code applies by itself. */
interface GuestLimits {
  streamWindowBytes: number;
  timersMax: number;
  logBytesMax: number;
  /** Outside the heap. */ memoryBytesMax: number;
}

/** What a worker may export to be started at all. */
const handlerNames = ['fetch', 'message', 'queue', 'timer', 'scheduled', 'cron', 'workflows'] as const;

function isHandler(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'object' && value !== null);
}

type Leave = Parameters<typeof connectDispatch>[1];

const scope = globalThis as unknown as Record<string, unknown>;

installGlobals(scope);
// The globals that live on the bridge.
for (const [name, value] of Object.entries({
  ...globalEvents,
  fetch,
  scheduler,
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval: clearTimeout,
  clearImmediate: clearTimeout,
})) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
}
eventHandlers.load = loadEventHandler;
installNodeHooks(globalThis, waitUntil);
for (const [name, value] of Object.entries({ AsyncLocalStorage, console })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

scope['connect'] = (native: Native, leave: Leave, callSync: typeof host.callSync, waiting: WaitingReference, limits: GuestLimits) => {
  // No tenant may find it on its global object.
  delete scope['connect'];
  connectContext(native);
  connectStreams({ windowBytes: limits.streamWindowBytes });
  connectTimers(limits);
  connectConsole(limits);
  host.call = callHost;
  host.callSync = (name, args, part) => callSync(name, toJson(args) as never, part);
  connectNodeHooks(waiting);
  installWasmStreaming();
  host.defineLazy = native.defineLazy;
  host.evaluate = native.evaluate;
  installLazyGlobals(globalThis);
  host.now = native.now;
  host.randomFill = native.randomFill;
  host.atob = native.atob;
  host.btoa = native.btoa;
  host.utf8Encode = native.utf8Encode;
  host.utf8Decode = native.utf8Decode;
  host.digest = native.digest;
  const startup = { account: { used: 0, limit: 0 }, stores: null };
  let isLoaded = false;
  let environment: unknown = {};
  let module: { default?: unknown } = {};
  let requestCpuMs = 0;

  // An event like any other, off the main thread and watched: what a worker exports can be a getter that never returns.
  function start(): void {
    const failure = isLoaded ? null : startFailure();
    if (!isLoaded) {
      send(toHost.started, failure === null ? 'pending' : 'failed', toJson(failure ?? ''));
      return;
    }
    enterContext(startup);
    try {
      const exported = (module.default ?? {}) as Worker;
      const listener = fetchListener();
      const handles = handlerNames.some((name) => isHandler(exported[name]));
      if (handles || listener !== null)
        serve(handles ? exported : { fetch: listener as NonNullable<typeof listener> }, environment, { cpuLimitMs: requestCpuMs });
      send(toHost.started, handles || listener !== null ? 'ready' : 'no-handler', toJson(''));
      watchRejections();
    } catch (error) {
      const { name, message, stack } = threw(error);
      send(toHost.started, 'failed', toJson(stack ?? `${name}: ${message}`));
    } finally {
      enterContext(undefined);
    }
  }

  connectDispatch(native, leave, start);
  return {
    run: native.run,
    /** The worker's top level begins: its CPU counts against the startup limit. */
    begin: () => native.begin(startup, limits.memoryBytesMax),
    /** It has ended, for now at an `await` maybe; 1 when the CPU limit ended it, 2 when memory did. */
    end: () => native.end(),
    /** Variables, bindings and CPU limits in ms (0 = none), before the top level runs. */
    prepare: (config: EnvironmentConfig & { startupCpuMs: number; cpuLimitMs: number; owner: string; crashDescriptor: number }) => {
      native.own(config.owner, config.crashDescriptor);
      startup.account.limit = config.startupCpuMs;
      requestCpuMs = config.cpuLimitMs;
      environment = createEnvironment(config);
      Object.defineProperty(globalThis, 'platform:loaded', {
        configurable: true,
        value: () => {
          delete scope['platform:loaded'];
          isLoaded = true;
        },
      });
    },
    /** The module that was evaluated; nothing of it is touched until the record `start` comes. */
    accept: (namespace: { default?: unknown }) => {
      module = namespace;
    },
  };
};

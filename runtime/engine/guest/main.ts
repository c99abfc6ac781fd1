// Entry of the guest, from which the V8 snapshot is created. Installs the globals and one function, which the host
// calls once per isolate to connect both sides. The function then deletes itself.
import { toHost } from '../bridge/protocol.ts';
import { connectContext, currentContext, enterContext, type Native } from './context.ts';
import { callHost } from './calls.ts';
import { AsyncLocalStorage } from './context.ts';
import { waitUntil } from './answers.ts';
import { limitCpu } from './cpu-limits.ts';
import { eventHandlers, serve, type Worker } from './dispatch.ts';
import { connectEntry } from './entry.ts';
import type { Leave } from './entry-end.ts';
import { send } from './records.ts';
import { threw, watchRejections } from './rejections.ts';
import { toJson } from './safe.ts';
import { entrypointNames, hasEntrypoint } from './entrypoints.ts';
import { workerExports } from './execution-context.ts';
import { createEnvironment, type EnvironmentConfig } from './environment.ts';
import { installFences } from './fences.ts';
import { host } from './host.ts';
import { setExports } from './object-records.ts';
import { connectNodeHooks, installNodeHooks, type WaitingReference } from './node-hooks.ts';
import { installLazyGlobals, loadEventHandler } from './lazy.ts';
import { connectStreams } from './pumps.ts';
import { connectConsole, console } from './web/console.ts';
import { fetch } from './web/fetch.ts';
import { installGlobals } from './web/globals.ts';
import { clearTimeout, connectTimers, scheduler, setImmediate, setInterval, setTimeout } from './web/timers.ts';
import { fetchListener, globalEvents } from './fetch-event.ts';
import { installStackPositions } from './stack-positions.ts';

/** Limits that the guest enforces itself. */
interface GuestLimits {
  streamWindowBytes: number;
  timersMax: number;
  atomicsWaitMs: number;
  logBytesMax: number;
  /** Limit of memory outside the heap. */
  memoryBytesMax: number;
  /** Key of the snapshot, under which its isolates share scripts. */
  snapshotKey: string;
}

/** A worker must export one of these handlers to start. */
const handlerNames = ['fetch', 'message', 'queue', 'timer', 'scheduled', 'cron', 'workflows'] as const;

function isHandler(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'object' && value !== null);
}

/** A worker's settings besides its variables and bindings. */
interface WorkerConfig {
  startupCpuMs: number;
  cpuLimitMs: number;
  owner: string;
  crashDescriptor: number;
}

/** Reports why a worker does not start. The worker's code may have patched array iteration. */
function sendFailure(loaded: ReturnType<Native['load']>, rejection: unknown): void {
  const state = loaded === undefined ? 0 : loaded[0];
  if (state === 1) send(toHost.started, 'cpu', toJson(''));
  else if (state === 2) send(toHost.started, 'memory', toJson(''));
  else if (state === 4) send(toHost.started, 'failed', toJson(`import of "${loaded?.[1] as string}" was not bundled`));
  else {
    const { name, message, stack } = threw(state === 0 ? rejection : loaded?.[1]);
    if (state === 3) send(toHost.started, 'syntax', toJson(`${message} [worker.js:${loaded?.[2]}:${loaded?.[3]}]`));
    else send(toHost.started, 'failed', toJson(stack ?? `${name}: ${message}`));
  }
}

/**
 * Variable that the last module of the bundle (builder/shims/handler.ts) sets to the exports of the worker's own
 * module.
 */
const exportsKey = Symbol.for('platform.entrypoints');

function takeExports(): void {
  const hooks = globalThis as unknown as Record<symbol, unknown>;
  setExports(hooks[exportsKey]);
  delete hooks[exportsKey];
  workerExports.names = entrypointNames;
}

const scope = globalThis as unknown as Record<string, unknown>;

installGlobals(scope);
// Globals that depend on the bridge.
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

scope['connect'] = (
  native: Native,
  leave: Leave,
  callSync: typeof host.callSync,
  waiting: WaitingReference,
  limits: GuestLimits,
  shown: SharedArrayBuffer,
) => {
  // The function is deleted, so that tenants do not find it on their global object.
  delete scope['connect'];
  native.show(shown);
  native.shareSource(scope['source']);
  delete scope['source'];
  connectContext(native);
  connectStreams({ windowBytes: limits.streamWindowBytes });
  connectTimers(limits);
  connectConsole(limits);
  host.call = callHost;
  host.callSync = (name, args, part) => {
    const text = toJson(args) as string;
    // The host's work for 4 KB, or as many characters, is charged to this code. The byte length may be a getter that
    // tenant code has defined.
    const account = currentContext()?.account;
    if (account !== undefined) account.used += 0.05 + text.length * 0.00001;
    return callSync(name, text as never, part);
  };
  connectNodeHooks(waiting);
  installFences(native, limits.atomicsWaitMs);
  installStackPositions();
  host.defineLazy = native.defineLazy;
  host.evaluate = native.evaluate;
  host.evaluateShared = (module) => native.evaluateShared(limits.snapshotKey, module, `platform:${module}`);
  installLazyGlobals(globalThis);
  host.now = native.now;
  host.randomFill = native.randomFill;
  host.atob = native.atob;
  host.btoa = native.btoa;
  host.utf8Encode = native.utf8Encode;
  host.utf8EncodeInto = native.utf8EncodeInto;
  host.clone = native.clone;
  host.utf8Decode = native.utf8Decode;
  host.digest = native.digest;
  host.plainUrl = native.plainUrl;
  const startup = { account: { used: 0, limit: 0 }, stores: null };
  let environment: unknown = {};
  let loaded: ReturnType<Native['load']>;

  // This runs like an event, outside the main thread and watched, because an export of a worker can be a getter that
  // never returns.
  function start(): void {
    const settled = loaded?.[0] === 0 ? native.settled() : undefined;
    if (settled?.[0] !== 1) {
      if (settled?.[0] === 0) {
        send(toHost.started, 'pending', toJson(''));
        return;
      }
      send(toHost.charge, 0, startup.account.used, startup.account.used);
      sendFailure(loaded, settled?.[1]);
      return;
    }
    enterContext(startup);
    try {
      takeExports();
      const exported = ((settled[1] as { default?: unknown }).default ?? {}) as Worker;
      const listener = fetchListener();
      const handles = handlerNames.some((name) => isHandler(exported[name])) || (listener === null && hasEntrypoint());
      const served = handles ? exported : listener === null ? null : { fetch: listener };
      send(toHost.started, served === null ? 'no-handler' : 'ready', toJson(''));
      watchRejections();
      enterContext(undefined);
      if (served !== null) serve(served, environment);
    } catch (error) {
      const { name, message, stack } = threw(error);
      send(toHost.started, 'failed', toJson(stack ?? `${name}: ${message}`));
    } finally {
      enterContext(undefined);
    }
  }

  connectEntry(native, leave, start);
  return {
    run: native.run,
    /**
     * Compiles the worker and runs its top level. Variables, bindings and CPU limits in ms (0 = none) are passed
     * along.
     */
    load: (config: EnvironmentConfig & WorkerConfig, text: unknown, isWide: boolean, form: unknown) => {
      native.own(config.owner, config.crashDescriptor);
      startup.account.limit = config.startupCpuMs;
      limitCpu(native, config.cpuLimitMs, config.startupCpuMs);
      environment = createEnvironment(config);
      loaded = native.load(text, isWide, form, startup, limits.memoryBytesMax);
    },
    compiledForm: () => native.compiledForm(),
    trim: () => native.trim(),
  };
};

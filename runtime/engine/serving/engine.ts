// Shared state of all handlers of this process: the guest's snapshot, the native half, the scheduler, the pool of
// isolates and the host calls. Created once by main.ts or dev.ts.
import type { LookupFunction } from 'node:net';
import { availableParallelism } from 'node:os';
import { createOwnAddresses, type EgressPolicy } from '#core/egress.ts';
import type { Limits } from '#core/limits.ts';
import { limitedLookup, guardedLookup } from '#core/outbound/host-names.ts';
import { noAiGateway, type AiAddress, type AiTransport } from '../bindings/ai-transport.ts';
import { EgressMeter } from '../bindings/egress-meter.ts';
import { createCompressionCalls } from '../bindings/compression.ts';
import { createCryptoCalls } from '../bindings/crypto.ts';
import { createFetch } from '../bindings/fetch.ts';
import { Pools } from '../bindings/pools/pools.ts';
import { OpenFetches } from '../bindings/open-fetches.ts';
import type { SandboxTransport } from '../bindings/sandbox-transport.ts';
import type { PlatformHosts } from '../bindings/platform-hosts.ts';
import { createNodeCryptoCalls } from '../bindings/node-crypto.ts';
import { createNodeZlibCalls } from '../bindings/node-zlib.ts';
import { createTcpCalls } from '../bindings/tcp.ts';
import { createWebSockets } from '../bindings/web-socket.ts';
import { createLazyCalls } from '../bindings/lazy.ts';
import { createTextCalls, textCalls } from '../bindings/text.ts';
import { stackCalls } from '../bindings/stack.ts';
import { urlCalls } from '../bindings/url.ts';
import { HostWork } from '../work/host-work.ts';
import type { HostFunctions } from '../bridge/host-calls.ts';
import { EngineMemory } from '../bridge/host-memory.ts';
import { EngineCounters } from '../metrics/counters.ts';
import { EngineUsage } from '../metrics/usage.ts';
import { CompileAhead } from '../isolates/compile-ahead.ts';
import { CompiledForms } from '../isolates/compiled-forms.ts';
import { EntryScheduler } from '../isolates/entry.ts';
import { LostThreads } from '../isolates/lost-threads.ts';
import { loadNative } from '../isolates/native.ts';
import { Pool } from '../isolates/pool.ts';
import { ResidentGrowth } from '../isolates/resident-growth.ts';
import { loadSnapshot } from '../isolates/snapshot.ts';

/** Options from the main module. */
interface EngineOptions {
  readonly limits: Limits;
  readonly egress: EgressPolicy;
  /** Name servers for workers' requests; by default those of the system. */
  readonly nameServers?: readonly string[];
  /** The hosts whose fetches are served internally, if there are any. */
  readonly platformHosts?: PlatformHosts;
  /** The transport to the AI gateway, if there is one. */
  readonly ai?: AiAddress;
  /** The transport to the sandbox service, if there is one. The transport is closed together with the engine. */
  readonly sandboxes?: SandboxTransport | null;
  /** The private folder for the snapshot. */
  readonly cacheFolder: string;
  /** Number of isolates that are kept ready for the next deployments that start. */
  readonly blanks: number;
  /** Threads for host work, which other code may share; closed with the engine. */
  readonly work?: HostWork;
  /**
   * Descriptor on which a crash of the process names the deployment whose code was running; by default, there is none.
   */
  readonly crashDescriptor?: number;
}

/** The running engine. */
export interface Engine {
  readonly pool: Pool;
  readonly hostMemory: EngineMemory;
  readonly compileAhead: CompileAhead;
  readonly hostFunctions: HostFunctions;
  readonly work: HostWork;
  readonly ai: AiTransport;
  readonly sandboxes: SandboxTransport | null;
  /** The connections to Postgres servers of projects, and the lookup of their names. */
  readonly pooled: { readonly pools: Pools; readonly lookupOf: (isolate: object) => LookupFunction };
  /** Slots for fetches, and for calls of the AI gateway and of sandboxes. */
  readonly openFetches: OpenFetches;
  readonly scheduler: EntryScheduler;
  readonly growth: ResidentGrowth;
  readonly counters: EngineCounters;
  readonly usage: EngineUsage;
  /** Counts the bytes on connections that workers opened. */
  readonly egressBytes: { readonly received: number; readonly sent: number };
  readonly snapshotBytes: number;
  /** The lost threads. While a lost thread exists, the process cannot exit normally. */
  readonly lostThreads: LostThreads;
  close(): Promise<void>;
}

/**
 * Starts an engine; builds the guest's snapshot first if it is not cached (about 0.4 s).
 *
 * @throws {Error} when this machine has no native guest, or the snapshot cannot be created or does not fit.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const snapshot = await loadSnapshot(options.cacheFolder);
  const compiledForms = new CompiledForms({ folder: options.cacheFolder, key: snapshot.key, limits: options.limits });
  const native = loadNative();
  const compileAhead = new CompileAhead({
    snapshot,
    native,
    forms: compiledForms,
    memoryLimitMb: options.limits.isolateMemoryMb,
  });
  // There is one entry per core. With more entries, the system would schedule them instead of this scheduler.
  const scheduler = new EntryScheduler({ runningMax: Math.max(2, availableParallelism()), defer: setImmediate });
  const growth = new ResidentGrowth(options.limits.isolateMemoryMb);
  const counters = new EngineCounters({ deploymentsMax: options.limits.metricsDeploymentsMax });
  const lostThreads = new LostThreads(options.limits.lostThreadsCpuMs);
  const pool = new Pool(
    {
      snapshot,
      native,
      scheduler,
      counters,
      compiledForms,
      growth,
      crashDescriptor: options.crashDescriptor ?? -1,
      limits: options.limits,
      lostThreads,
    },
    { ...options.limits, blanks: options.blanks },
  );
  const work = options.work ?? new HostWork();
  const { calls } = counters;
  const nodeCalls = { ...createNodeCryptoCalls(work), ...createNodeZlibCalls(work) };
  const egressBytes = new EgressMeter();
  const policy: EgressPolicy = { isOwn: createOwnAddresses(), ...options.egress };
  const lookup = guardedLookup(policy, { servers: options.nameServers ?? [] });
  const lookups = new WeakMap<object, typeof lookup>();
  const lookupOf = (isolate: object): typeof lookup => {
    const own = lookups.get(isolate) ?? limitedLookup(lookup, options.limits.subrequestsOpenMax);
    lookups.set(isolate, own);
    return own;
  };
  const ai = options.ai ?? { transport: noAiGateway, url: () => null };
  const openFetches = new OpenFetches(options.limits.subrequestsOpenMax);
  const pools = new Pools({ policy, meter: egressBytes }, options.limits);
  const fetch = createFetch({
    policy,
    lookupOf,
    meter: egressBytes,
    places: openFetches,
    ai,
    platformHosts: options.platformHosts ?? null,
  });
  const webSockets = createWebSockets({
    policy,
    lookupOf,
    messageBytesMax: options.limits.webSocketMessageBytesMax,
    load: () => import('../http/websocket.ts'),
  });
  return {
    pool,
    hostMemory: new EngineMemory(options.limits),
    compileAhead,
    hostFunctions: {
      async: calls.count({
        ...fetch.calls,
        ...webSockets.calls,
        ...createTcpCalls({ policy, lookupOf, meter: egressBytes, places: openFetches }),
        ...createCryptoCalls(work),
        ...createCompressionCalls(work),
        ...nodeCalls,
      }),
      sync: calls.count({
        ...createLazyCalls(snapshot.lazy),
        ...stackCalls,
        ...textCalls,
        ...urlCalls,
        ...webSockets.sync,
      }),
      waiting: calls.count({ ...nodeCalls, ...createTextCalls(work) }),
      mainThread: work.mainThread,
    },
    work,
    ai: ai.transport,
    sandboxes: options.sandboxes ?? null,
    openFetches,
    pooled: { pools, lookupOf },
    scheduler,
    growth,
    counters,
    usage: new EngineUsage(),
    egressBytes,
    snapshotBytes: snapshot.bytes,
    lostThreads,
    async close() {
      lostThreads.close();
      pool.close();
      compileAhead.close();
      pools.close();
      await compiledForms.close();
      await fetch.close();
      await ai.transport.close();
      await options.sandboxes?.close();
      await work.close();
    },
  };
}

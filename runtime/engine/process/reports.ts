// An engine's reports to the supervisor: its status for people and its metrics for /metrics. Served over the engine's
// Unix socket (internal-routes.ts); this code never runs while a request is served.
import type { Engine } from '../serving/engine.ts';
import type { Handler } from '../handler.ts';
import { watchEventLoop } from '../metrics/event-loop.ts';
import { labels, type MetricsReport, type Sample } from '../metrics/report.ts';

/** The sources of the reports. */
interface ReportDeps {
  readonly engine: Engine;
  readonly handler: Pick<Handler, 'load' | 'objectCounts'>;
  /** The HTTP listener; null until the engine listens. */
  readonly listener: () => 'node' | 'uws' | null;
  /** Number of requests that were forwarded to other engines. */
  readonly forwarded: () => number;
  /** Routed deployments. */
  readonly routes: () => number;
}

/** An engine's own part of `/_platform/status`. */
interface EngineStatus {
  readonly pid: number;
  readonly uptimeMs: number;
  readonly listener: 'node' | 'uws' | null;
  /** The clock that measures CPU budgets. */
  readonly cpuClock: string;
  readonly snapshotBytes: number;
  readonly isolates: { readonly live: number; readonly blank: number };
  /** Number of isolates that run, and that wait for a slot. */
  readonly entries: { readonly running: number; readonly waiting: number };
  /** Number of entries with new requests, and of those requests. */
  readonly joined: { readonly entries: number; readonly requests: number };
  readonly load: number;
  /**
   * Number of threads that were lost to code that V8 cannot end, or to heap overflows inside V8, and the CPU that they
   * have used since.
   */
  readonly lostThreads: number;
  readonly lostThreadsCpuMs: number;
  readonly rssBytes: number;
  /** Memory that is held for workers outside isolates. `most` lists the deployments with the most memory. */
  readonly hostMemory: {
    readonly bytes: number;
    readonly bytesMax: number;
    readonly refused: number;
    readonly most: readonly { readonly name: string; readonly bytes: number }[];
  };
  readonly routes: number;
  /** CPU ms by kind. `none` is the CPU of entries in which no invocation ran, and `entries` the total. */
  readonly cpuMs: Readonly<Record<string, number>>;
}

/** Maximum number of deployments in the status. */
const HEAVIEST_MAX = 10;

/** The reports of an engine, until `close`. */
export function createEngineReports(deps: ReportDeps): {
  status(): EngineStatus;
  metrics(): MetricsReport;
  close(): void;
} {
  const { engine, handler } = deps;
  const { hostMemory: memory } = engine;
  const loop = watchEventLoop();
  return {
    status: () => ({
      pid: process.pid,
      uptimeMs: Math.round(process.uptime() * 1000),
      listener: deps.listener(),
      // The value is constant, because no engine starts without the native half (runtime/engine/isolates/native).
      cpuClock: 'native thread clock',
      snapshotBytes: engine.snapshotBytes,
      isolates: { live: engine.pool.live, blank: engine.pool.blank },
      entries: { running: engine.scheduler.running, waiting: engine.scheduler.waiting },
      joined: engine.counters.joined,
      load: handler.load,
      lostThreads: engine.lostThreads.count,
      lostThreadsCpuMs: engine.lostThreads.burntMs,
      rssBytes: process.memoryUsage.rss(),
      hostMemory: {
        bytes: memory.bytes,
        bytesMax: memory.bytesMax,
        refused: memory.refused,
        most: memory.heaviest(HEAVIEST_MAX),
      },
      routes: deps.routes(),
      cpuMs: Object.fromEntries(
        Object.entries(engine.counters.ledger()).map(([kind, ms]) => [kind, Math.round(ms * 1000) / 1000]),
      ),
    }),
    metrics() {
      const { user, system } = process.cpuUsage();
      const objects = handler.objectCounts;
      const gauges: Sample[] = [
        ['platform_isolates', labels({ state: 'live' }), engine.pool.live],
        ['platform_isolates', labels({ state: 'blank' }), engine.pool.blank],
        ['platform_entries', labels({ state: 'running' }), engine.scheduler.running],
        ['platform_entries', labels({ state: 'waiting' }), engine.scheduler.waiting],
        ['platform_lost_threads', '', engine.lostThreads.count],
        ['platform_requests_in_flight', '', handler.load],
        ['platform_objects', '', objects.inMemory],
        ['platform_object_sockets', '', objects.sockets],
        ['platform_resident_bytes', '', process.memoryUsage.rss()],
        ['platform_host_memory_bytes', '', memory.bytes],
        ['platform_routes', '', deps.routes()],
        ...loop.report(),
      ];
      const counters: Sample[] = [
        ...engine.counters.report(),
        ['platform_egress_bytes_total', labels({ direction: 'in' }), engine.egressBytes.received],
        ['platform_egress_bytes_total', labels({ direction: 'out' }), engine.egressBytes.sent],
        ['platform_requests_forwarded_total', '', deps.forwarded()],
        ['platform_host_memory_refused_total', '', memory.refused],
        ['platform_process_cpu_seconds_total', '', (user + system) / 1e6],
      ];
      return { counters, gauges, deployments: engine.counters.deployments() };
    },
    close: () => loop.close(),
  };
}

// Keeps the totals of all engines' metrics: polls each of them at intervals and when /metrics is read, and remembers
// the counts of former engines. Used by the private port.
import { isReport, labels, type Sample } from '../../engine/metrics/report.ts';
import { MetricsTotals } from '../../engine/metrics/totals.ts';
import { readFromEngine } from '../engines/engine-calls.ts';
import { readProcessFigures } from './process-figures.ts';
import type { SupervisorState } from '../engines/state.ts';

/** How often engines are polled: a dead engine loses at most the counts of this time. */
const INTERVAL_MS = 5000;

/** Collects until `close`. */
export class MetricsCollector {
  #state: () => SupervisorState;
  #totals: MetricsTotals;
  #known = new Set<number>();
  /** Engines that have sent their final report. */
  #final = new Set<number>();
  #collecting: Promise<void> | null = null;
  #timer: NodeJS.Timeout;

  constructor(options: { readonly deploymentsMax: number; readonly state: () => SupervisorState }) {
    this.#state = options.state;
    this.#totals = new MetricsTotals(options);
    this.#timer = setInterval(() => void this.#collect(), INTERVAL_MS).unref();
  }

  /** Totals of all engines, and the supervisor's own metrics. */
  async samples(): Promise<Sample[]> {
    await this.#collect();
    return [...this.#totals.samples(), ...supervisorSamples(this.#state())];
  }

  // Concurrent readers share one poll.
  #collect(): Promise<void> {
    return (this.#collecting ??= this.#round().finally(() => (this.#collecting = null)));
  }

  async #round(): Promise<void> {
    const { engines } = this.#state();
    const now = new Set(engines.map(({ id }) => id));
    for (const id of this.#known) {
      if (now.has(id)) continue;
      this.#known.delete(id);
      this.#final.delete(id);
      this.#totals.retire(String(id));
    }
    await Promise.all(
      engines.map(async ({ id, state, socketPath }) => {
        if (state === 'starting' || this.#final.has(id)) return;
        const report = await readFromEngine(socketPath, '/_platform/metrics').catch(() => null);
        if (!this.#final.has(id)) this.#update(id, report);
      }),
    );
  }

  /** Adds the final report of an engine that ends normally, so that none of its counts are lost. */
  keepLast(engine: number, report: unknown): void {
    this.#final.add(engine);
    this.#update(engine, report);
  }

  #update(engine: number, report: unknown): void {
    // A former engine is already summed up: a pending response would count it twice.
    if (!isReport(report) || !this.#state().engines.some(({ id }) => id === engine)) return;
    this.#known.add(engine);
    this.#totals.update(String(engine), report);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** The supervisor's own metrics. */
function supervisorSamples(state: SupervisorState): Sample[] {
  const byState = new Map<string, number>([
    ['role="serving",state="listening"', 0],
    ['role="quarantine",state="listening"', 0],
  ]);
  for (const engine of state.engines) {
    const key = labels({ role: engine.role, state: engine.state });
    byState.set(key, (byState.get(key) ?? 0) + 1);
  }
  return [
    ...[...byState].map(([given, count]): Sample => ['platform_engines', given, count]),
    ['platform_engine_deaths_total', '', state.deaths],
    ['platform_requests_lost_total', '', state.lostRequests],
    ['platform_quarantined_deployments', '', state.quarantine.length],
    ['platform_resident_bytes', labels({ engine: 'supervisor' }), process.memoryUsage.rss()],
    ...supervisorFigures(),
    ...state.services.flatMap(serviceSamples),
  ];
}

/**
 * The values of the supervisor since it started: every engine's start and every delivery goes through its event loop.
 */
function supervisorFigures(): Sample[] {
  const service = labels({ service: 'supervisor' });
  const { user, system } = process.cpuUsage();
  return [
    ['platform_service_cpu_seconds_total', service, (user + system) / 1e6],
    ['platform_service_event_loop_utilization', service, performance.eventLoopUtilization().utilization],
    ['platform_service_heap_bytes', service, process.memoryUsage().heapUsed],
  ];
}

/** Metrics of processes other than engines. An on-demand process that has exited is not up. */
function serviceSamples({
  name,
  pid,
  state,
  restarts,
  figures: told = [],
}: SupervisorState['services'][number]): Sample[] {
  const service = labels({ service: name });
  const figures = pid === null ? null : readProcessFigures(pid);
  const samples: Sample[] = [
    ['platform_service_up', service, state === 'ready' ? 1 : 0],
    ['platform_service_restarts_total', service, restarts],
    ...told.map(([metric, given, value]): Sample => {
      // Metrics of a process have its label; metrics without a label are of the platform.
      const isOwn = metric.startsWith('platform_service_');
      return [metric, labels(isOwn ? { service: name, ...given } : given), value];
    }),
  ];
  if (figures === null) return samples;
  return [
    ...samples,
    ['platform_service_resident_bytes', service, figures.residentBytes],
    ['platform_service_cpu_seconds_total', service, figures.cpuSeconds],
  ];
}

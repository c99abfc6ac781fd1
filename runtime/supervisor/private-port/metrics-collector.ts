// Keeps the totals of all engines' metrics: asks each of them now and then and when somebody reads /metrics, and
// remembers what those that are gone had counted. Used by the private port.
import { isReport, labels, type Sample } from '../../engine/metrics/report.ts';
import { MetricsTotals } from '../../engine/metrics/totals.ts';
import { readFromEngine } from '../engines/engine-calls.ts';
import { readProcessFigures } from './process-figures.ts';
import type { SupervisorState } from './state.ts';

/** What a dead engine counted after its last report is lost: at most this long. */
const INTERVAL_MS = 5000;

/** Collects until `close`. */
export class MetricsCollector {
  #state: () => SupervisorState;
  #totals: MetricsTotals;
  #known = new Set<number>();
  /** Engines that have said their last word. */
  #final = new Set<number>();
  #collecting: Promise<void> | null = null;
  #timer: NodeJS.Timeout;

  constructor(options: { readonly deploymentsMax: number; readonly state: () => SupervisorState }) {
    this.#state = options.state;
    this.#totals = new MetricsTotals(options);
    this.#timer = setInterval(() => void this.#collect(), INTERVAL_MS).unref();
  }

  /** Totals of all engines, and what the supervisor knows itself. */
  async samples(): Promise<Sample[]> {
    await this.#collect();
    return [...this.#totals.samples(), ...supervisorSamples(this.#state())];
  }

  // Readers that come together are served by one round.
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

  /** The last word of an engine that ends in order: nothing that it counted is lost. */
  keepLast(engine: number, report: unknown): void {
    this.#final.add(engine);
    this.#update(engine, report);
  }

  #update(engine: number, report: unknown): void {
    // One that is gone is summed up already: an answer that was under way would count it twice.
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

/** Since it started: its own event loop is what every engine's start and every delivery goes through. */
function supervisorFigures(): Sample[] {
  const service = labels({ service: 'supervisor' });
  const { user, system } = process.cpuUsage();
  return [
    ['platform_service_cpu_seconds_total', service, (user + system) / 1e6],
    ['platform_service_event_loop_utilization', service, performance.eventLoopUtilization().utilization],
    ['platform_service_heap_bytes', service, process.memoryUsage().heapUsed],
  ];
}

/** Of the processes beside engines. One that is on demand and has ended is not up. */
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
      // What is of a process says of which; the rest is of the platform.
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

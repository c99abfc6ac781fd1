// Event loop delay of an engine's main thread. Everything except tenant code runs on this thread, so its delay affects
// all requests. Sampled by Node every 20 ms; read with each report.
import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';
import { labels, type Sample } from './report.ts';

const RESOLUTION_MS = 20;

/** Measures until `close`. */
export function watchEventLoop(): { report(): Sample[]; close(): void } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  return {
    report() {
      // Node measures the time between samples, so the delay is the part above the interval.
      const lagMs = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
      const measured = delays.count > 0;
      const samples = (['0.5', '0.99', '1'] as const).map((quantile): Sample => {
        const value = measured ? lagMs(delays.percentile(Number(quantile) * 100)) : 0;
        return ['platform_event_loop_lag_milliseconds', labels({ quantile }), value];
      });
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      delays.reset();
      return [...samples, ['platform_event_loop_utilization', '', utilization]];
    },
    close: () => void delays.disable(),
  };
}

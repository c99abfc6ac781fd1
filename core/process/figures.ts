// Metrics that a process other than an engine reports to the supervisor for /metrics, over its message channel at
// intervals. Called once by each main module; runtime/supervisor/services/ keeps the latest report.
import { performance } from 'node:perf_hooks';

/** Name of a metric (a family of runtime/engine/metrics/families.ts), its labels, its value. */
export type Figure = readonly [name: string, labels: Readonly<Record<string, string>>, value: number];

/** The message. */
interface FiguresMessage {
  readonly type: 'figures';
  readonly figures: readonly Figure[];
}

const INTERVAL_MS = 5000;

/**
 * Reports metrics until the process ends, the first time immediately.
 *
 * @param read metrics of this process besides event loop and heap; its errors are ignored.
 */
export function tellFigures(read: () => readonly Figure[] | Promise<readonly Figure[]> = () => []): void {
  let before = performance.eventLoopUtilization();
  const tell = async (): Promise<void> => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const own = await Promise.resolve()
      .then(read)
      .catch(() => []);
    const figures: Figure[] = [
      ['platform_service_event_loop_utilization', {}, utilization],
      ['platform_service_heap_bytes', {}, process.memoryUsage().heapUsed],
      ...own,
    ];
    // The parent may have exited.
    if (process.connected)
      process.send?.({ type: 'figures', figures } satisfies FiguresMessage, undefined, {}, () => {});
  };
  void tell();
  setInterval(() => void tell(), INTERVAL_MS).unref();
}

/** The metrics in a message; null means that another kind of message. */
export function figuresOf(message: unknown): readonly Figure[] | null {
  const { type, figures } = (message ?? {}) as { readonly type?: unknown; readonly figures?: unknown };
  if (type !== 'figures' || !Array.isArray(figures)) return null;
  return (figures as unknown[]).filter(isFigure);
}

function isFigure(value: unknown): value is Figure {
  if (!Array.isArray(value)) return false;
  const [name, labels, number] = value as unknown[];
  return (
    typeof name === 'string' &&
    typeof labels === 'object' &&
    labels !== null &&
    Object.entries(labels).every(([key, text]) => /^[a-z_]{1,40}$/.test(key) && typeof text === 'string') &&
    typeof number === 'number'
  );
}

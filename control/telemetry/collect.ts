// Takes lines, invocations and spans from the supervisor of each handler and stores them (store.ts). A stored batch is
// acknowledged by the next request; a batch that is sent again because this process ended in between is recognized by
// its id. Started by main.ts.
import { statfsSync } from 'node:fs';
import type { Figure } from '#core/process/figures.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { pause } from '#core/process/wake.ts';
import type { TelemetryBatch } from '#core/telemetry.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { HandlerPorts } from '../process/private-port.ts';
import { SpanExporter, type CollectorAddress } from './export-spans.ts';
import { createProjectCollectors } from './project-collectors.ts';
import { sweepTelemetry } from './sweep.ts';
import { createTelemetryStore, type TelemetryStore } from './store.ts';

/** Timeout of the long poll. */
const WAIT_MS = 10_000;
/** Pause between batches, so that single records are stored together. */
const TOGETHER_MS = 250;
const FAILED_MS = 2000;
/** Pause between checks for new handlers. */
const HANDLERS_MS = 2000;
const SWEEP_MS = 10 * 60_000;

/** Counters of stored, lost and exported records since the process started, for /metrics. */
export class TelemetryCounts {
  readonly kept = { lines: 0, invocations: 0, spans: 0 };
  lost = 0;
  /** Counters of exporters, of the operator and of projects. */
  exported: () => readonly { readonly collector: string; readonly sent: number; readonly dropped: number }[] = () => [];

  figures(): Figure[] {
    return [
      ...Object.entries({ ...this.kept, lost: this.lost }).map(([record, count]): Figure => [
        'platform_telemetry_records_total',
        { record },
        count,
      ]),
      ...this.exported().flatMap(({ collector, sent, dropped }): Figure[] => [
        ['platform_spans_exported_total', { collector, result: 'sent' }, sent],
        ['platform_spans_exported_total', { collector, result: 'dropped' }, dropped],
      ]),
    ];
  }
}

/**
 * Takes batches of all handlers until the process shuts down.
 *
 * @param handlers private ports by handler. @param collector the operator's collector for spans, or null.
 */
export async function collectTelemetry(
  deps: Dependencies,
  handlers: HandlerPorts['each'],
  collector: CollectorAddress | null = null,
  counts: TelemetryCounts = new TelemetryCounts(),
): Promise<void> {
  const { sql, stopping, log } = deps;
  const exporter = collector === null ? null : new SpanExporter({ address: collector, log, stopping });
  if (exporter !== null) deps.background('Sending spans', () => exporter.run());
  const ofProjects = createProjectCollectors(deps);
  deps.background('Sending spans of projects', () => ofProjects.run());
  counts.exported = () => [
    { collector: 'operator', sent: exporter?.sent ?? 0, dropped: exporter?.dropped ?? 0 },
    { collector: 'projects', ...ofProjects.total() },
  ];
  const store = createTelemetryStore({
    sql,
    counts,
    onSpans(spans) {
      exporter?.add(spans);
      ofProjects.add(spans);
    },
  });
  const { diskFreeBytesMin, isPostgresLocal } = deps.storage;
  const space = new FreeSpace(deps.folder, isPostgresLocal ? diskFreeBytesMin : 0, statfsSync);
  const taking = new Map<string, Promise<void>>();
  let sweptAt = -Infinity;
  while (!stopping.aborted) {
    try {
      for (const [handler, privatePort] of await handlers()) {
        if (taking.has(handler)) continue;
        const taken = takeAll(handler, { privatePort, log, stopping }).finally(() => taking.delete(handler));
        taking.set(handler, taken);
      }
      if (performance.now() - sweptAt > SWEEP_MS) {
        sweptAt = performance.now();
        await sweepTelemetry(deps);
      }
    } catch (error) {
      if (stopping.aborted) break;
      log.warn({ reason: (error as Error).message }, 'Log lines and invocations could not be collected or removed');
    }
    await pause(HANDLERS_MS, stopping);
  }
  await Promise.all(taking.values());

  /**
   * Takes batches until the process shuts down or a request fails. A batch that was not acknowledged is sent again with
   * its id.
   */
  async function takeAll(handler: string, from: Parameters<typeof takeTelemetry>[0]): Promise<void> {
    let acknowledged: string | null = null;
    try {
      while (!stopping.aborted) {
        acknowledged = await takeTelemetry(from, store, acknowledged, WAIT_MS, counts, space);
        await pause(acknowledged === null ? 0 : TOGETHER_MS, stopping);
      }
    } catch (error) {
      if (stopping.aborted) return;
      log.warn({ handler, reason: (error as Error).message }, 'Log lines and invocations could not be collected');
      await pause(FAILED_MS, stopping);
    }
  }
}

/**
 * Takes one batch and stores it.
 *
 * @param acknowledged id of the last stored batch. @param space free space of the disk: if it is low, nothing is
 * stored.
 * @returns the id of the new batch; null if there was none.
 * @throws {Error} if the supervisor or the database is unavailable: the same batch is then sent again.
 */
export async function takeTelemetry(
  { privatePort, log, stopping }: Pick<Dependencies, 'privatePort' | 'log' | 'stopping'>,
  store: TelemetryStore,
  acknowledged: string | null,
  waitMs = 0,
  counts: Pick<TelemetryCounts, 'lost'> = { lost: 0 },
  space: Pick<FreeSpace, 'isLow'> = { isLow: false },
): Promise<string | null> {
  const asked = privatePort.ask<TelemetryBatch>('/_platform/telemetry', { acknowledged, waitMs }, waitMs + 10_000);
  const { status, body } = await unlessAborted(asked, stopping);
  if (status !== 200) throw new Error(`the platform answered ${status}`);
  if (body.id === null) return null;
  counts.lost += body.lost;
  if (body.lost > 0)
    log.warn({ records: body.lost }, 'Log lines and invocations lost: they were not collected in time');
  if (space.isLow) {
    // The remaining disk space is reserved for the platform.
    counts.lost++;
    log.warn('Log lines and invocations not stored: the disk has less free space than DISK_FREE_BYTES_MIN');
  } else await store.keep(body);
  return body.id;
}

/** Lets the process shut down without waiting for the response. */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(new Error('The process ends'));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
    work.catch(() => {});
  }
}

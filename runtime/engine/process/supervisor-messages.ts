// Messages of a serving engine to its supervisor: usage of deployments and telemetry records, in batches.
import type { Engine } from '../serving/engine.ts';
import type { TelemetryRecorder } from '../telemetry/recorder.ts';

/**
 * Intervals of the batches. A dying engine loses its unsent data, at most a second of usage and a quarter of a second
 * of telemetry.
 */
const USAGE_MS = 1000;
const RECORDS_MS = 250;

/** Sends batches until `close`. */
interface SupervisorMessages {
  /** Sends the last batches and `report`; resolves when they are written. */
  close(report: object): Promise<void>;
}

/** @param telemetry the source of the records. */
export function startSupervisorMessages(
  { usage }: Pick<Engine, 'usage'>,
  telemetry: Pick<TelemetryRecorder, 'take'>,
): SupervisorMessages {
  const sendUsage = (): void => {
    const rows = usage.take();
    if (rows.length > 0 && process.connected) process.send?.({ type: 'usage', rows });
  };
  const sendRecords = (): void => {
    const records = telemetry.take();
    if (records !== '' && process.connected) process.send?.({ type: 'telemetry', records });
  };
  const timers = [setInterval(sendUsage, USAGE_MS).unref(), setInterval(sendRecords, RECORDS_MS).unref()];
  return {
    async close(report) {
      for (const timer of timers) clearInterval(timer);
      sendUsage();
      sendRecords();
      if (process.connected) await new Promise((resolve) => process.send!({ type: 'report', report }, resolve));
    },
  };
}

// Telemetry of engines: lines, invocations and traces, held unparsed until the control plane has fetched it (`POST
// /_platform/telemetry`). A batch is repeated until the next request acknowledges it. The data is lost with the
// supervisor; if it is not fetched, engines stop recording.
import { randomBytes } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import type { TelemetryBatch } from '#core/telemetry.ts';

/** Approximate size of one batch, in characters. */
const BATCH_CHARS_MAX = 8 * 1024 * 1024;
const WAIT_MS_MAX = 20_000;

/** Buffers and hands over telemetry. */
export class TelemetryBuffer {
  #chunks: string[] = [];
  #chars = 0;
  #charsMax: number;
  #lost = 0;
  #given: TelemetryBatch | null = null;
  #arrived: (() => void) | null = null;
  #isOn = true;
  #silence: NodeJS.Timeout | undefined;
  #unaskedMs: number;
  #onRecording: (isOn: boolean) => void;

  /** @param onRecording called when engines have to start or stop recording. */
  constructor(options: {
    readonly heldBytesMax: number;
    /** After this long without a request, no further request is expected. */
    readonly unaskedMs: number;
    readonly onRecording: (isOn: boolean) => void;
  }) {
    this.#charsMax = options.heldBytesMax;
    this.#unaskedMs = options.unaskedMs;
    this.#onRecording = options.onRecording;
    this.#expect();
  }

  /** Whether telemetry is fetched, or may be. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Adds records of an engine; drops the oldest if there is no room. */
  add(records: string): void {
    if (!this.#isOn || records === '') return;
    this.#chunks.push(records);
    this.#chars += records.length;
    while (this.#chars > this.#charsMax && this.#chunks.length > 1) {
      const oldest = this.#chunks.shift()!;
      this.#chars -= oldest.length;
      this.#lost += countLines(oldest);
    }
    this.#arrived?.();
  }

  /**
   * Returns available records, after at most `waitMs`.
   *
   * @param question `{acknowledged, waitMs?}`: id of the batch that was stored; any other value returns the last batch
   * again.
   * @throws {PlatformError} `bad_request`.
   */
  async take(question: unknown): Promise<TelemetryBatch> {
    const { acknowledged = null, waitMs = 0 } = (question ?? {}) as { acknowledged?: unknown; waitMs?: unknown };
    if (!Number.isInteger(waitMs) || (waitMs as number) < 0 || (waitMs as number) > WAIT_MS_MAX)
      throw new PlatformError('bad_request', { reason: `waitMs must be a whole number of at most ${WAIT_MS_MAX}` });
    this.#expect();
    if (this.#given !== null && this.#given.id === acknowledged) this.#given = null;
    if (this.#given !== null) return this.#given;
    if (this.#chunks.length === 0 && waitMs !== 0) await this.#wait(waitMs as number);
    if (this.#given !== null) return this.#given;
    if (this.#chunks.length === 0 && this.#lost === 0) return { id: null, records: '', lost: 0 };
    let count = 0;
    let chars = 0;
    while (count < this.#chunks.length && chars < BATCH_CHARS_MAX) chars += this.#chunks[count++]!.length;
    const records = this.#chunks.splice(0, count).join('\n');
    this.#chars -= chars;
    this.#given = { id: randomBytes(12).toString('hex'), records, lost: this.#lost };
    this.#lost = 0;
    return this.#given;
  }

  close(): void {
    clearTimeout(this.#silence);
    this.#arrived?.();
  }

  #wait(ms: number): Promise<void> {
    // Only one request waits at a time, because the control plane asks again when it has stored the last batch.
    this.#arrived?.();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        if (this.#arrived === done) this.#arrived = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#arrived = done;
    });
  }

  #expect(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#set(false), this.#unaskedMs).unref();
    this.#set(true);
  }

  #set(isOn: boolean): void {
    if (this.#isOn === isOn) return;
    this.#isOn = isOn;
    if (!isOn) {
      this.#chunks = [];
      this.#chars = this.#lost = 0;
      this.#given = null;
    }
    this.#onRecording(isOn);
  }
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

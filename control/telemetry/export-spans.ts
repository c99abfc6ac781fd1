// Exports spans to one collector: in batches, retried with pauses, never blocking. Spans beyond the buffer are dropped
// and counted. The operator's collector (`OTEL_EXPORTER_OTLP_ENDPOINT`) gets the spans of all projects and may have a
// private address. project-collectors.ts handles the collectors of projects.
import type { Logger } from 'pino';
import { pause } from '#core/process/wake.ts';
import { post } from '#core/outbound/post.ts';
import { toOtlp, type OwnedSpan } from './otlp.ts';

/** Address of a collector. */
export interface CollectorAddress {
  /** Of `POST .../v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean;
}

const BATCH_MAX = 512;
const WAITING_MAX = 20_000;
const TOGETHER_MS = 500;
const PAUSES_MS = [1000, 2000, 5000, 15_000, 30_000];

/** Exporter to one collector. */
export class SpanExporter {
  readonly #address: CollectorAddress;
  readonly #log: Logger;
  readonly #stopping: AbortSignal;
  #waiting: OwnedSpan[] = [];
  readonly #waitingMax: number;
  #sent = 0;
  #dropped = 0;
  #problem: string | null = null;
  /** Consecutive failed batches. */
  #failures = 0;
  #wake: (() => void) | null = null;

  constructor(options: {
    readonly address: CollectorAddress;
    readonly log: Logger;
    readonly stopping: AbortSignal;
    /** Maximum number of buffered spans. */
    readonly waitingMax?: number;
  }) {
    this.#address = options.address;
    this.#log = options.log;
    this.#stopping = options.stopping;
    this.#waitingMax = options.waitingMax ?? WAITING_MAX;
  }

  /** Number of buffered spans. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Number of exported spans. */
  get sent(): number {
    return this.#sent;
  }

  /** Number of dropped spans. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Reason of the last drop, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  add(spans: readonly OwnedSpan[]): void {
    const room = Math.max(0, this.#waitingMax - this.#waiting.length);
    this.#waiting.push(...spans.slice(0, room));
    this.drop(
      spans.length - Math.min(room, spans.length),
      this.#problem ?? 'Spans arrived faster than the collector accepted them',
    );
    this.#wake?.();
  }

  /** Counts dropped spans. @param reason the reason in one line. */
  drop(count: number, reason: string): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#problem = reason;
  }

  /** Exports until the process shuts down. */
  async run(): Promise<void> {
    this.#stopping.addEventListener('abort', () => this.#wake?.(), { once: true });
    while (!this.#stopping.aborted) {
      if (this.#waiting.length === 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = null;
        await pause(TOGETHER_MS, this.#stopping);
        continue;
      }
      await this.#send(this.#waiting.splice(0, BATCH_MAX));
      // Pause between batches while the collector keeps failing.
      if (this.#failures > 0) await pause(PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length) - 1]!, this.#stopping);
    }
  }

  async #send(spans: readonly OwnedSpan[]): Promise<void> {
    const body = JSON.stringify(toOtlp(spans));
    const headers = { 'content-type': 'application/json', ...this.#address.headers };
    for (const wait of [...PAUSES_MS, null]) {
      const { status, error } = await post({
        url: this.#address.url,
        headers,
        body,
        isPrivate: this.#address.isPrivate,
      });
      if (error === null) {
        this.#sent += spans.length;
        this.#failures = 0;
        return;
      }
      const isFinal = status !== null && status >= 400 && status < 500 && status !== 429 && status !== 408;
      if (isFinal || wait === null || this.#stopping.aborted) {
        this.#log.warn({ spans: spans.length, reason: error }, 'The collector did not accept spans');
        this.#failures++;
        return this.drop(spans.length, error);
      }
      await pause(wait, this.#stopping);
    }
  }
}

/**
 * The operator's collector; null if not set. The variables have the names and formats of OpenTelemetry.
 *
 * @throws {Error} naming the variable, without its value, which may contain a secret.
 * @example collectorAddress({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318' })?.url // 'http://otel:4318/v1/traces'
 */
export function collectorAddress(environment: Readonly<Record<string, string | undefined>>): CollectorAddress | null {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const whole = get('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = get('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (whole === '' && base === '') return null;
  const name = whole === '' ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const url = URL.parse(whole === '' ? `${base.replace(/\/+$/, '')}/v1/traces` : whole);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '')
    throw new Error(`${name} must be an http or https URL without a user, such as http://127.0.0.1:4318`);
  const headers: Record<string, string> = {};
  for (const entry of get('OTEL_EXPORTER_OTLP_HEADERS').split(',')) {
    if (entry.trim() === '') continue;
    const [, key, value] = /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(entry) ?? [];
    if (key === undefined)
      throw new Error('OTEL_EXPORTER_OTLP_HEADERS must be pairs such as authorization=Bearer%20x, comma-separated');
    headers[key.toLowerCase()] = decodeURIComponent(value!);
  }
  return { url: url.href, headers, isPrivate: true };
}

// Sends the spans of all projects to the operator's collector (`OTEL_EXPORTER_OTLP_ENDPOINT`), which may be a private
// one: in batches, tried again with pauses, and never waited for. What finds no room is dropped and counted.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { post } from '../outbound/post.ts';
import { toOtlp, type OwnedSpan } from './otlp.ts';

/** Where spans go. */
export interface CollectorAddress {
  /** Of `POST .../v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const BATCH_MAX = 512;
const WAITING_MAX = 20_000;
const TOGETHER_MS = 500;
const PAUSES_MS = [1000, 2000, 5000, 15_000, 30_000];

/** Spans on their way to a collector. */
export class SpanExporter {
  readonly #address: CollectorAddress;
  readonly #log: Logger;
  readonly #stopping: AbortSignal;
  #waiting: OwnedSpan[] = [];
  #dropped = 0;
  #wake: (() => void) | null = null;

  constructor(options: { readonly address: CollectorAddress; readonly log: Logger; readonly stopping: AbortSignal }) {
    this.#address = options.address;
    this.#log = options.log;
    this.#stopping = options.stopping;
  }

  /** Spans that were dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  add(spans: readonly OwnedSpan[]): void {
    const room = Math.max(0, WAITING_MAX - this.#waiting.length);
    this.#waiting.push(...spans.slice(0, room));
    this.#drop(spans.length - Math.min(room, spans.length));
    this.#wake?.();
  }

  /** Sends until the process is to end. */
  async run(): Promise<void> {
    this.#stopping.addEventListener('abort', () => this.#wake?.(), { once: true });
    while (!this.#stopping.aborted) {
      if (this.#waiting.length === 0) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = null;
        await this.#pause(TOGETHER_MS);
        continue;
      }
      await this.#send(this.#waiting.splice(0, BATCH_MAX));
    }
  }

  async #send(spans: readonly OwnedSpan[]): Promise<void> {
    const body = JSON.stringify(toOtlp(spans));
    const headers = { 'content-type': 'application/json', ...this.#address.headers };
    for (const wait of [...PAUSES_MS, null]) {
      const { status, error } = await post({ url: this.#address.url, headers, body, isPrivate: true });
      if (error === null) return;
      const isFinal = status !== null && status >= 400 && status < 500 && status !== 429 && status !== 408;
      if (isFinal || wait === null || this.#stopping.aborted) {
        this.#log.warn({ spans: spans.length, reason: error }, 'Spans not taken by the collector');
        return this.#drop(spans.length);
      }
      await this.#pause(wait);
    }
  }

  #drop(count: number): void {
    this.#dropped += count;
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stopping }).catch(() => {});
  }
}

/**
 * The operator's collector; null where there is none. Names and formats are those of OpenTelemetry.
 *
 * @throws {Error} naming the variable; its value may hold a secret and stays out of it.
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
  return { url: url.href, headers };
}

// Sends spans to one collector: in batches, tried again with pauses, and never waited for. What finds no room is
// dropped and counted. The operator's (`OTEL_EXPORTER_OTLP_ENDPOINT`) gets those of all projects and may be a private
// one; those of projects are project-collectors.ts.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { post } from '#core/way-out/post.ts';
import { toOtlp, type OwnedSpan } from './otlp.ts';

/** Where spans go. */
export interface CollectorAddress {
  /** Of `POST .../v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it may lead to a private address. */
  readonly isPrivate: boolean;
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
  readonly #waitingMax: number;
  #sent = 0;
  #dropped = 0;
  #problem: string | null = null;
  /** Batches that were given up, one after the other. */
  #failures = 0;
  #wake: (() => void) | null = null;

  constructor(options: {
    readonly address: CollectorAddress;
    readonly log: Logger;
    readonly stopping: AbortSignal;
    /** Spans that wait at most. */
    readonly waitingMax?: number;
  }) {
    this.#address = options.address;
    this.#log = options.log;
    this.#stopping = options.stopping;
    this.#waitingMax = options.waitingMax ?? WAITING_MAX;
  }

  /** Spans that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Spans that arrived so far. */
  get sent(): number {
    return this.#sent;
  }

  /** Spans that were dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Why some were dropped last; null: none were. */
  get problem(): string | null {
    return this.#problem;
  }

  add(spans: readonly OwnedSpan[]): void {
    const room = Math.max(0, this.#waitingMax - this.#waiting.length);
    this.#waiting.push(...spans.slice(0, room));
    this.drop(spans.length - Math.min(room, spans.length), this.#problem ?? 'Spans came faster than they were taken');
    this.#wake?.();
  }

  /** Counts spans that are not sent. @param reason in one line. */
  drop(count: number, reason: string): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#problem = reason;
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
      // One that refuses everything is not asked for each batch at once.
      if (this.#failures > 0) await this.#pause(PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length) - 1]!);
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
        this.#log.warn({ spans: spans.length, reason: error }, 'Spans not taken by the collector');
        this.#failures++;
        return this.drop(spans.length, error);
      }
      await this.#pause(wait);
    }
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
  return { url: url.href, headers, isPrivate: true };
}

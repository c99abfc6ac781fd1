// An exchange whose request or response another part of the host changes: it hides headers from the worker, or changes
// headers of the response. gates.ts creates it for hosts with a gate, and skew-protection.ts for pages.
import type { HostMemory } from '../bridge/host-memory.ts';
import type { BodySink, Exchange } from './listener.ts';
import { headerIn } from './header-block.ts';

/** @see Exchange */
export class AlteredExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly remoteAddress: string;
  readonly bodyBytes: number;
  #inner: Exchange;
  #change: (headerBlock: string) => string;

  /**
   * @param headerBlock headers of the request, as they are forwarded. @param change changes the header block of the
   * response.
   */
  constructor(inner: Exchange, headerBlock: string, change: (headerBlock: string) => string) {
    this.#inner = inner;
    this.#change = change;
    this.headerBlock = headerBlock;
    ({
      method: this.method,
      target: this.target,
      host: this.host,
      remoteAddress: this.remoteAddress,
      bodyBytes: this.bodyBytes,
    } = inner);
  }

  header(name: string): string | null {
    return headerIn(this.headerBlock, name);
  }

  readBody(sink: BodySink): void {
    this.#inner.readBody(sink);
  }

  resumeBody(): void {
    this.#inner.resumeBody();
  }

  send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer?: boolean): void {
    this.#inner.send(status, this.#change(headerBlock), body, transfer);
  }

  begin(status: number, headerBlock: string): void {
    this.#inner.begin(status, this.#change(headerBlock));
  }

  write(chunk: Uint8Array | string, transfer?: boolean): boolean {
    return this.#inner.write(chunk, transfer);
  }

  end(): void {
    this.#inner.end();
  }

  upgrade(headerBlock: string, events: Parameters<Exchange['upgrade']>[1]): ReturnType<Exchange['upgrade']> {
    return this.#inner.upgrade(this.#change(headerBlock), events);
  }

  destroy(): void {
    this.#inner.destroy();
  }

  get requestId(): string {
    return this.#inner.requestId;
  }

  set requestId(id: string) {
    this.#inner.requestId = id;
  }

  get refusedCookies(): string {
    return this.#inner.refusedCookies;
  }

  set refusedCookies(names: string) {
    this.#inner.refusedCookies = names;
  }

  get sentBytes(): number {
    return this.#inner.sentBytes;
  }

  get memory(): HostMemory | null {
    return this.#inner.memory ?? null;
  }

  set memory(memory: HostMemory | null) {
    this.#inner.memory = memory;
  }

  get onAbort(): Exchange['onAbort'] {
    return this.#inner.onAbort;
  }

  set onAbort(run: Exchange['onAbort']) {
    this.#inner.onAbort = run;
  }

  get onDrain(): Exchange['onDrain'] {
    return this.#inner.onDrain;
  }

  set onDrain(run: Exchange['onDrain']) {
    this.#inner.onDrain = run;
  }
}

// An exchange that records its request and its response, so that the dashboard can show and replay it. dev.ts wraps
// each request; the data passes through unchanged.
import { AlteredExchange } from '../../engine/http/altered-exchange.ts';
import type { BodySink, Exchange } from '../../engine/http/listener.ts';

/** Maximum size of a recorded request body; a longer body is not recorded. */
const BODY_BYTES_MAX = 64 * 1024;

/** Names and values. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A recorded exchange. */
export interface Recorded {
  readonly requestHeaders: HeaderList;
  readonly responseHeaders: HeaderList;
  /** The recorded body; null if it was too long. */
  readonly body: Uint8Array | null;
}

export class RecordedExchange extends AlteredExchange {
  #chunks: Uint8Array[] | null = [];
  #bytes = 0;
  #responseBlock = '';

  constructor(inner: Exchange) {
    super(inner, inner.headerBlock, (block) => block);
  }

  override readBody(sink: BodySink): void {
    super.readBody({
      chunk: (bytes) => {
        this.#bytes += bytes.byteLength;
        // The chunk is copied, because its receiver keeps it.
        if (this.#bytes > BODY_BYTES_MAX) this.#chunks = null;
        else this.#chunks?.push(new Uint8Array(bytes));
        return sink.chunk(bytes);
      },
      end: () => sink.end(),
    });
  }

  override send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer?: boolean): void {
    this.#responseBlock = headerBlock;
    super.send(status, headerBlock, body, transfer);
  }

  override begin(status: number, headerBlock: string): void {
    this.#responseBlock = headerBlock;
    super.begin(status, headerBlock);
  }

  recorded(): Recorded {
    return {
      requestHeaders: toList(this.headerBlock),
      responseHeaders: toList(this.#responseBlock),
      body: this.#chunks === null ? null : Buffer.concat(this.#chunks),
    };
  }
}

/** A block has names and values, alternating, each terminated by NUL. */
function toList(block: string): HeaderList {
  const parts = block.split('\0');
  const list: [string, string][] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) list.push([parts[at]!, parts[at + 1]!]);
  return list;
}

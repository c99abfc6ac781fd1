// Passes the response of a host fetch into the guest. Bodies are decoded; small bodies are sent as a part, others as a
// stream with credit. Used by fetch.ts, web-socket.ts, and ai.ts.
import type { Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { PlatformError } from '#core/errors.ts';
import type { GuestStream, HostCall, HostReply } from '../bridge/host-calls.ts';
import type { Hold } from '../bridge/host-memory.ts';
import { codecBytes, type CodecBytes } from './codec-memory.ts';

/** Complete bodies up to this size cross the bridge as one part. */
const PART_BYTES_MAX = 64 * 1024;

/** The head of a response, and its body as a stream. */
export interface FetchedResponse {
  readonly statusCode: number;
  readonly statusText: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Readable;
  /** The whole body, if it has already arrived; null means empty. A reader of `body` gets the same bytes. */
  readonly whole?: Uint8Array | null | undefined;
}

/** Fires when the response is no longer needed: when the call is aborted, and when its invocation ends. */
export function signalOf(call: HostCall): AbortSignal {
  call.owner.atExit(() => call.drop());
  return call.signal;
}

/** Calls back when the response no longer uses a connection. */
export function onceRead(response: FetchedResponse, leave: () => void): void {
  if (response.whole === undefined) response.body.once('close', leave);
  else leave();
}

/** Sends a request. @param to the recipient's name in errors. @throws {PlatformError} `fetch_failed` */
export async function requestOf(
  agent: Dispatcher,
  target: Pick<Dispatcher.RequestOptions, 'origin' | 'path' | 'method'>,
  content: Pick<Dispatcher.RequestOptions, 'headers' | 'body' | 'signal'>,
  to: string,
): Promise<FetchedResponse> {
  try {
    const response = await agent.request({
      ...target,
      ...content,
      responseHeaders: 'raw',
    } as Dispatcher.RequestOptions);
    // A cancelled body emits an error, which may have no listener by then.
    response.body.on('error', () => {});
    return { ...response, headers: raw(response), statusText: response.statusText ?? '' };
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    const { code, message, cause } = error as { code?: string; message: string; cause?: unknown };
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError(
      'fetch_failed',
      { reason: `fetch failed: ${code === undefined ? message : `${code} ${to}`}` },
      { cause: error },
    );
  }
}

function raw({ headers }: Dispatcher.ResponseData): string[] {
  return (headers as unknown as (string | Buffer)[]).map((field) =>
    typeof field === 'string' ? field : field.toString('latin1'),
  );
}

/** Bytes decoded per millisecond. */
const DECODED_BYTES_PER_MS = 500_000;

const decoderBytes: Readonly<Record<string, CodecBytes>> = {
  gzip: codecBytes('gunzip'),
  'x-gzip': codecBytes('gunzip'),
  deflate: codecBytes('inflate'),
  br: codecBytes('brotliDecompress'),
};

const decoders: Record<string, () => NodeJS.ReadWriteStream & Readable> = {
  gzip: () => createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }),
  br: () =>
    createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

// The body crosses the bridge decoded, so the headers of its encoding are removed.
export async function reply(
  call: HostCall,
  response: FetchedResponse,
  target: URL,
  redirected: boolean,
): Promise<HostReply> {
  const fields = response.headers;
  let encoding = '';
  for (let at = 0; at < fields.length; at += 2)
    if ((fields[at] as string).toLowerCase() === 'content-encoding')
      encoding = (fields[at + 1] as string).trim().toLowerCase();
  const bytesOf = decoderBytes[encoding];
  let hold: Hold | null = null;
  try {
    if (bytesOf !== undefined) hold = call.isolate.memory.hold(bytesOf(0), 'A decoder of a fetched body');
  } catch (error) {
    response.body.destroy();
    throw error;
  }
  const decoder = decoders[encoding]?.();
  if (hold !== null && decoder !== undefined) holdFor(decoder, response.body, hold, bytesOf!);
  let block = '';
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] as string).toLowerCase();
    if (decoder !== undefined && (name === 'content-encoding' || name === 'content-length')) continue;
    if (name === 'connection' || name === 'keep-alive' || name === 'transfer-encoding') continue;
    block += `${name}\0${fields[at + 1] as string}\0`;
  }
  const head = {
    status: response.statusCode,
    statusText: response.statusText,
    headers: block,
    url: target.href,
    redirected,
  };
  if (decoder === undefined && response.whole !== undefined) {
    const { whole } = response;
    return {
      value: { ...head, stream: null, part: whole !== null },
      parts: whole === null ? [] : [whole],
      transfer: true,
    };
  }
  const body: Readable =
    decoder === undefined
      ? response.body
      : response.body.on('error', (error: Error) => decoder.destroy(error)).pipe(decoder);
  // Bodies are decoded on the thread pool and charged by output size, because a small body may expand to a large one.
  const paid = (chunk: Uint8Array): void => {
    if (decoder !== undefined) call.owner.settleCpu(0, chunk.byteLength / DECODED_BYTES_PER_MS);
  };
  const { chunks, ended } = await firstChunks(body);
  chunks.forEach(paid);
  if (ended)
    return {
      value: { ...head, stream: null, part: chunks.length > 0 },
      parts: chunks.length > 0 ? [concat(chunks)] : [],
      transfer: true,
    };
  let stream: GuestStream;
  try {
    stream = call.isolate.openStream({ resume: () => body.resume(), cancel: () => body.destroy() });
  } catch (error) {
    body.destroy();
    response.body.destroy();
    throw error;
  }
  let failure: Error | null = null;
  const broken = (error: Error): void =>
    stream.break({ code: 'fetch_failed', name: 'TypeError', message: `terminated: ${error.message}` });
  const keep = (error: Error): void => void (failure = error);
  body.on('error', keep);
  // The reply names the stream, so it must be sent before the first chunk.
  setImmediate(() => {
    let open = true;
    for (const chunk of chunks) open = stream.write(chunk, true);
    body.off('error', keep);
    if (failure !== null) {
      broken(failure);
      return;
    }
    body.on('data', (chunk: Uint8Array) => {
      paid(chunk);
      if (!stream.write(chunk, true)) body.pause();
    });
    body.on('end', () => stream.end());
    body.on('error', broken);
    // The stream was paused explicitly, which adding a listener does not undo.
    if (open) body.resume();
  });
  return { value: { ...head, stream: stream.id, part: false } };
}

/** A decoder's memory is known after the first bytes, and released when it is closed. */
function holdFor(decoder: Readable, encoded: Readable, hold: Hold, bytesOf: CodecBytes): void {
  decoder.once('close', () => hold.release());
  encoded.once('data', (first: Uint8Array) => {
    try {
      hold.grow(bytesOf(0, first));
    } catch (error) {
      decoder.destroy(error as Error);
    }
  });
}

/**
 * Collects the body data that arrives within one tick after its first chunk, so that small responses need no stream.
 */
function firstChunks(body: Readable): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let waiting = false;
    const finish = (ended: boolean): void => {
      body.pause();
      body.off('data', onChunk).off('end', onEnd).off('error', onError);
      resolve({ chunks, ended });
    };
    const onChunk = (chunk: Uint8Array): void => {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes > PART_BYTES_MAX) finish(false);
      else if (!waiting) {
        waiting = true;
        setImmediate(() => setImmediate(() => body.listeners('data').includes(onChunk) && finish(false)));
      }
    };
    const onEnd = (): void => finish(true);
    const onError = (error: Error): void => {
      reject(new PlatformError('fetch_failed', { reason: `terminated: ${error.message}` }, { cause: error }));
    };
    body.on('data', onChunk).on('end', onEnd).on('error', onError);
  });
}

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? new Uint8Array(chunks[0] as Uint8Array) : new Uint8Array(Buffer.concat(chunks));
}

// Passes bodies between a guest and a Node stream, with back-pressure both ways: uploads and downloads of a worker.
import { PassThrough, type Readable } from 'node:stream';
import type { GuestStream, HostCall } from '../bridge/host-calls.ts';

/** Maximum number of buffered bytes per body, in either direction. */
const UPLOAD_BYTES = 256 * 1024;
const READ_BYTES = 64 * 1024;

/**
 * Receives the stream that the guest sends under an id. Call this function before the first await: the first chunk of
 * the stream may already have been sent.
 */
export function receiveBody(
  call: HostCall,
  id: number,
  toError: (reason: string) => Error = (reason) => new Error(reason),
): Readable {
  const hold = call.isolate.memory.hold(UPLOAD_BYTES, 'A body that is sent');
  const through = new PassThrough();
  through.once('close', () => hold.release());
  const stream = call.isolate.receiveStream(id, {
    write: (chunk) => through.write(chunk),
    end: () => through.end(),
    destroy: (reason) => through.destroy(toError(reason)),
  });
  through.on('drain', () => stream.drained());
  through.on('error', () => {});
  return through;
}

/**
 * Sends a stream to the guest and consumes its chunks; its id belongs in the call's reply. A failure reaches the reader
 * with `reason` before its message.
 */
export function sendBody(call: HostCall, body: Readable, reason: string): number {
  let stream: GuestStream;
  try {
    const hold = call.isolate.memory.hold(READ_BYTES, 'A body that is read');
    body.once('close', () => hold.release());
    stream = call.isolate.openStream({ resume: () => body.resume(), cancel: () => body.destroy() });
  } catch (error) {
    body.destroy();
    throw error;
  }
  let failure: Error | null = null;
  const keep = (error: Error): void => void (failure = error);
  const broken = ({ message }: Error): void =>
    stream.break({ code: 'internal', name: 'Error', message: `${reason}: ${message}` });
  body.pause();
  body.on('error', keep);
  // The reply names the stream, so it must be sent before the first chunk.
  setImmediate(() => {
    body.off('error', keep);
    if (failure !== null) {
      broken(failure);
      return;
    }
    body.on('data', (chunk: Uint8Array) => {
      if (!stream.write(chunk, true)) body.pause();
    });
    body.on('end', () => stream.end());
    body.on('error', broken);
    body.resume();
  });
  return stream.id;
}

// One connection between two engines: outgoing frames, batched by tick of the event loop, and incoming frames. Used by
// both ends: forwarder.ts, which has the clients, and receiver.ts, which has the isolates.
import type { Socket } from 'node:net';
import { FrameReader, FrameWriter } from './frames.ts';

export class EngineLink {
  readonly writer = new FrameWriter();
  #socket: Socket;
  #reader = new FrameReader();
  #flushing = false;
  #flush = (): void => {
    this.#flushing = false;
    const parts = this.writer.take();
    if (parts.length === 1) this.#socket.write(parts[0]!);
    else if (parts.length > 1) {
      this.#socket.cork();
      for (const part of parts) this.#socket.write(part);
      this.#socket.uncork();
    }
  };

  /** `onGone` is called once, when the other end has closed or has sent an invalid frame. */
  constructor(socket: Socket, onFrame: (frame: FrameReader) => void, onGone: () => void) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      try {
        this.#reader.push(bytes, onFrame);
      } catch {
        socket.destroy();
      }
    });
    // `close` follows.
    socket.on('error', () => {});
    socket.once('close', onGone);
  }

  /** Whether writes will be sent at the end of this tick. */
  flush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  /** Sends a frame without fields. */
  say(kind: number, exchange: number): void {
    this.writer.begin(kind, exchange);
    this.writer.end();
    this.flush();
  }

  sayBytes(kind: number, exchange: number, bytes: Uint8Array): void {
    this.writer.begin(kind, exchange);
    this.writer.end(bytes);
    this.flush();
  }

  sayNumber(kind: number, exchange: number, value: number): void {
    this.writer.begin(kind, exchange, 4);
    this.writer.number(value);
    this.writer.end();
    this.flush();
  }

  close(): void {
    if (this.#flushing) this.#flush();
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/**
 * Path of the Unix socket on which an engine receives requests from other engines. @param sockets base of its sockets'
 * names
 */
export function linkOf({ sockets }: { readonly sockets: string }): string {
  return `${sockets}.link`;
}

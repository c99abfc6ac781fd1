// Counts bytes on the connections of workers, as sent over the network (headers and TLS included). One entry per
// connection, not per request. Used by fetch.ts; read with each metrics report.
import type { Socket } from 'node:net';

/** Counts the bytes of sockets. */
export class EgressMeter {
  #open = new Set<Socket>();
  #received = 0;
  #sent = 0;

  /** Counts a socket over its lifetime. */
  add(socket: Socket): void {
    if (this.#open.has(socket)) return;
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#received += socket.bytesRead;
      this.#sent += socket.bytesWritten;
    });
  }

  get received(): number {
    let bytes = this.#received;
    for (const socket of this.#open) bytes += socket.bytesRead;
    return bytes;
  }

  get sent(): number {
    let bytes = this.#sent;
    for (const socket of this.#open) bytes += socket.bytesWritten;
    return bytes;
  }
}

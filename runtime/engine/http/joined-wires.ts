// Joins a client's WebSocket with a WebSocket that a worker's call has opened, so that their messages bypass the
// worker. Created by serving/responses.ts, when the worker answers its client with the unread socket.
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { PairedWire } from './socket-pair.ts';

/** The client's events. */
export class JoinedWires implements SocketEvents {
  readonly #far: PairedWire;

  constructor(far: PairedWire) {
    this.#far = far;
  }

  /** @param near the client. */
  attach(near: SocketWire): void {
    const far = this.#far;
    far.next = near;
    const onPaused = (isPaused: boolean): void => (isPaused ? near.pause() : near.resume());
    far.onPaused = onPaused;
    far.attach(new ToClient(near));
  }

  message(data: Part): void {
    this.#far.send(data);
  }

  failed(message: string): void {
    this.#far.cut(message);
  }

  closed(code: number, reason: string, clean: boolean): void {
    if (clean) this.#far.close(code, reason);
    else this.#far.cut();
  }
}

/** The events of the worker's end. */
class ToClient implements SocketEvents {
  readonly #near: SocketWire;

  constructor(near: SocketWire) {
    this.#near = near;
  }

  message(data: Part): void {
    this.#near.send(data);
  }

  failed(): void {}

  closed(code: number, reason: string, clean: boolean): void {
    // A paused socket would never read the reply to its close frame.
    this.#near.resume();
    // Codes that mean the absence of a code are never sent.
    this.#near.close(clean ? code : 1011, reason);
  }
}

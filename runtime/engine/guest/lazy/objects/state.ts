// `ctx` of a durable object.
import { waitUntil } from '../../answers.ts';
import type { DurableObjectId } from './ids.ts';
import type { AcceptedSocket, AcceptedSockets, AutoResponse } from './sockets.ts';
import { DurableObjectStorage, type StorageOwner } from './storage.ts';

/** What `ctx` needs from its object. */
export interface StateOwner extends StorageOwner {
  reset(reason: Error): void;
  readonly sockets: AcceptedSockets;
}

const [REQUEST_CHARS_MAX, EVENT_MS_MAX] = [2048, 604_800_000];

export class DurableObjectState {
  readonly #owner: StateOwner;
  readonly id: DurableObjectId;
  readonly storage: DurableObjectStorage;
  readonly props = {};
  readonly exports = {};
  readonly container = undefined;

  constructor(owner: StateOwner, id: DurableObjectId) {
    this.#owner = owner;
    this.id = id;
    this.storage = new DurableObjectStorage(owner);
  }

  waitUntil(promise: unknown): void {
    waitUntil(promise);
  }

  blockConcurrencyWhile<Result>(callback: () => Promise<Result>): Promise<Result> {
    const { alone, reset } = this.#owner;
    return alone(async () => {
      try {
        return await callback();
      } catch (error) {
        // As in Cloudflare's API, an object is reset after a failed section.
        reset(error as Error);
        throw error;
      }
    });
  }

  abort(reason?: unknown): never {
    const error = new Error(
      reason === undefined ? 'Application called abort() to reset Durable Object.' : String(reason),
    );
    this.#owner.reset(error);
    throw error;
  }

  /** Messages of the socket call `webSocketMessage` of the object, and its end calls `webSocketClose`. */
  acceptWebSocket(socket: AcceptedSocket, tags?: readonly unknown[]): void {
    this.#owner.sockets.accept(socket, tags);
  }

  getWebSockets(tag?: unknown): unknown[] {
    return this.#owner.sockets.list(tag);
  }

  getTags(socket: AcceptedSocket): string[] {
    return this.#owner.sockets.tagsOf(socket);
  }

  setWebSocketAutoResponse(pair?: AutoResponse): void {
    if (pair !== undefined && (pair.request.length > REQUEST_CHARS_MAX || pair.response.length > REQUEST_CHARS_MAX))
      throw new RangeError(`Request and response have at most ${REQUEST_CHARS_MAX} characters`);
    this.#owner.sockets.autoResponse = pair ?? null;
  }

  getWebSocketAutoResponse(): AutoResponse | null {
    return this.#owner.sockets.autoResponse;
  }

  getWebSocketAutoResponseTimestamp(socket: AcceptedSocket): Date | null {
    return this.#owner.sockets.answeredAt(socket);
  }

  /** An event of a WebSocket fails if it runs longer than this. */
  setHibernatableWebSocketEventTimeout(ms?: number): void {
    if (ms !== undefined && !(ms >= 0 && ms <= EVENT_MS_MAX))
      throw new TypeError(`The time of an event is from 0 to ${EVENT_MS_MAX} ms`);
    this.#owner.sockets.eventMs = ms === undefined ? 0 : Math.ceil(ms);
  }

  getHibernatableWebSocketEventTimeout(): number | null {
    return this.#owner.sockets.eventMs || null;
  }
}

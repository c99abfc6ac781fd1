// `ctx` of a durable object.
import { waitUntil } from '../../answers.ts';
import type { DurableObjectId } from './ids.ts';
import { DurableObjectStorage, type StorageOwner } from './storage.ts';

/** What `ctx` needs of its object. */
export interface StateOwner extends StorageOwner {
  reset(reason: Error): void;
}

function noSockets(method: string): never {
  throw new Error(
    `ctx.${method}() is not supported on this platform yet: call accept() on the socket and listen to its events`,
  );
}

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
        // As where this interface comes from: an object whose section failed is not to be trusted.
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

  acceptWebSocket(): never {
    return noSockets('acceptWebSocket');
  }

  getWebSockets(): unknown[] {
    return [];
  }

  setWebSocketAutoResponse(): never {
    return noSockets('setWebSocketAutoResponse');
  }

  getWebSocketAutoResponse(): null {
    return null;
  }

  getTags(): never {
    return noSockets('getTags');
  }
}

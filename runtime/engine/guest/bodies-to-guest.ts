// Byte streams from the host: bodies whose chunks are read on demand, each read returning credit. pumps.ts is the
// other direction.
import { toHost, type Failure, type Part } from '../bridge/protocol.ts';
import { toError } from './calls.ts';
import { currentInvocation, disown, own, touch, type GuestInvocation, type Owned } from './invocation.ts';
import type { HostBody } from './host.ts';
import { send } from './records.ts';
import { SafeMap } from './safe.ts';
import { byteLengthOf } from './free-buffers.ts';

// This function is captured before tenant code can replace it, because bodies are also abandoned when no tenant code
// may run.
const OverError = Error;

/** A body that the host sends chunk by chunk. */
export class BodyToGuest implements HostBody, Owned {
  readonly id: number;
  #owner: GuestInvocation | undefined;
  #chunks: Uint8Array[] = [];
  #failed = false;
  #error: unknown = null;
  #ended = false;
  #waiter: { resolve(chunk: Uint8Array | null): void; reject(error: unknown): void } | null = null;
  /** Whether a pending read is counted as work of the body's owner. */
  #isWork = false;
  /** Whether the host forwards the rest itself when the guest asks for it. */
  #isSpliced = false;
  /** Called when the host takes over, because a pump may wait for a chunk that will not come. */
  onSpliced: (() => void) | null = null;
  nextOwned: Owned | null = null;
  previousOwned: Owned | null = null;

  constructor(id: number, owner: GuestInvocation | undefined, isOwned: boolean) {
    this.id = id;
    this.#owner = owner;
    if (isOwned && owner !== undefined) own(owner, this);
  }

  /**
   * The stream ends with its invocation, even if it was not read, because nothing else limits how long its source stays
   * open.
   */
  abandon(): void {
    if (this.#ended) return;
    this.break(
      new OverError(
        'The invocation of this body has ended: read the body earlier, or in a promise that is passed to waitUntil',
      ),
    );
    send(toHost.cancel, this.id);
  }

  read(): Promise<Uint8Array | null> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      send(toHost.credit, this.id, byteLengthOf(chunk));
      return Promise.resolve(chunk);
    }
    if (this.#failed) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      if (this.#owner === undefined || this.#isWork) return;
      this.#isWork = true;
      this.#owner.work++;
    });
  }

  /** Called when no read is pending any more. */
  #isRead(): void {
    if (!this.#isWork) return;
    this.#isWork = false;
    this.#owner!.work--;
    touch(this.#owner);
  }

  cancel(): void {
    if (this.#ended) return;
    this.#finish();
    this.#chunks = [];
    send(toHost.cancel, this.id);
  }

  /** Returns true once, when everything that was received has been read and the host waits for the hand-over. */
  takeHandOver(): boolean {
    if (!this.#isSpliced || this.#chunks.length > 0) return false;
    this.#isSpliced = false;
    return true;
  }

  spliced(): void {
    this.#isSpliced = true;
    this.#isRead();
    if (this.#waiter !== null) this.onSpliced?.();
  }

  push(chunk: Uint8Array): void {
    touch(this.#owner);
    const waiter = this.#waiter;
    if (waiter === null) {
      this.#chunks.push(chunk);
      return;
    }
    this.#waiter = null;
    this.#isRead();
    send(toHost.credit, this.id, byteLengthOf(chunk));
    waiter.resolve(chunk);
  }

  end(): void {
    this.#finish();
    this.#waiter?.resolve(null);
    this.#waiter = null;
  }

  break(error: unknown): void {
    this.#finish();
    this.#failed = true;
    this.#error = error;
    this.#chunks = [];
    this.#waiter?.reject(error);
    this.#waiter = null;
  }

  #finish(): void {
    this.#ended = true;
    this.#isRead();
    bodies.delete(this.id);
    if (this.#owner !== undefined) disown(this.#owner, this);
  }
}

const bodies = new SafeMap<number, BodyToGuest>();

/** The body that the host sends under an id. @param isOwned whether the body ends with the invocation. */
export function bodyToGuest(
  id: number,
  owner: GuestInvocation | undefined = currentInvocation(),
  isOwned = false,
): HostBody {
  const body = new BodyToGuest(id, owner, isOwned);
  bodies.set(id, body);
  if (isOwned && owner?.over === true) body.abandon();
  return body;
}

export function pushChunk(id: number, chunk: Part): void {
  bodies.get(id)?.push(chunk as Uint8Array);
}

export function spliceStream(id: number): void {
  bodies.get(id)?.spliced();
}

export function endStream(id: number): void {
  bodies.get(id)?.end();
}

export function breakStream(id: number, failure: Failure): void {
  bodies.get(id)?.break(toError(failure));
}

/** Cancels an incoming body with the worker's reason. */
export function abortBody(id: number, reason: unknown): void {
  const body = bodies.get(id);
  if (body === undefined) return;
  body.break(reason);
  send(toHost.cancel, id);
}

/** Whether the host may still send data of a body. */
export function hasOpenBodies(): boolean {
  return bodies.size > 0;
}

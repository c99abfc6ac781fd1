// Delivers the events of one object's WebSockets, in order of arrival, several at a time. An event that was lost before
// the object began to handle it is delivered again. Made by object-sockets.ts.
import type { HostMemory } from '../../bridge/host-memory.ts';
import type { Part } from '../../bridge/protocol.ts';
import type { Outcome } from '../../invocation/outcome.ts';

/** An event of a socket (object-sockets.ts). */
interface QueuedEvent {
  readonly content: { readonly event: string };
  readonly socket: { readonly attachment: string | null };
  readonly data: Part | null;
  readonly number: number;
  readonly isBegun: boolean;
  tries: number;
}

interface SocketEventQueueDeps<Event> {
  readonly memory: HostMemory;
  readonly deliver: (event: Event) => void;
  /** Called when there were too many attempts to deliver the event. */
  readonly lost: (event: Event) => void;
}

/** How many events the object handles at a time. */
const HANDED_MAX = 256;
/** Memory of an event in addition to its message. */
const EVENT_BYTES = 512;
/** Number of retries, and the delay before the first retry, which grows with each further one. */
const [TRIES_MAX, PAUSE_MS] = [10, 20];
/** Outcomes for which the object itself is the cause, so that a retry would not help. */
const final = new Set(['worker_threw', 'cpu_limit_exceeded']);

export class SocketEventQueue<Event extends QueuedEvent> {
  readonly #deps: SocketEventQueueDeps<Event>;
  /** The events in order; those before `#at` are delivered. */
  #waiting: Event[] = [];
  #at = 0;
  readonly #handed = new Set<Event>();
  /** How many events the object may have at a time; few after it was lost while it handled some. */
  #handedMax = HANDED_MAX;
  #pause: NodeJS.Timeout | null = null;

  constructor(deps: SocketEventQueueDeps<Event>) {
    this.#deps = deps;
  }

  get isBusy(): boolean {
    return this.#handed.size > 0 || this.#at < this.#waiting.length;
  }

  /** @returns false if there is no memory for the event. */
  push(event: Event): boolean {
    const { memory } = this.#deps;
    const bytes = bytesOf(event);
    // The close event needs less memory than the socket did.
    if (event.content.event === 'message' && !memory.hasRoom(bytes)) return false;
    memory.add(bytes);
    this.#waiting.push(event);
    this.#pump();
    return true;
  }

  #pump(): void {
    while (this.#pause === null && this.#handed.size < this.#handedMax && this.#at < this.#waiting.length) {
      const event = this.#waiting[this.#at++]!;
      if (this.#at === this.#waiting.length || this.#at >= 1024) {
        this.#waiting.splice(0, this.#at);
        this.#at = 0;
      }
      this.#handed.add(event);
      event.tries++;
      this.#deps.deliver(event);
    }
  }

  /** Called when an event has ended. @returns false if the event is delivered again, or was dropped. */
  ended(event: Event, outcome: Outcome): boolean {
    if (!this.#handed.delete(event)) return false;
    if (outcome.kind === 'failed' && !event.isBegun && !final.has(outcome.code)) {
      if (event.tries < TRIES_MAX) {
        this.#again(event);
        return false;
      }
      this.#deps.lost(event);
    }
    if (event.isBegun) this.#handedMax = Math.min(HANDED_MAX, 2 * this.#handedMax);
    this.#deps.memory.release(bytesOf(event));
    this.#pump();
    return true;
  }

  #again(event: Event): void {
    this.#handedMax = 1;
    this.#waiting.splice(0, this.#at);
    this.#at = 0;
    let at = 0;
    while (at < this.#waiting.length && this.#waiting[at]!.number < event.number) at++;
    this.#waiting.splice(at, 0, event);
    this.#pause ??= setTimeout(() => {
      this.#pause = null;
      this.#pump();
    }, PAUSE_MS * event.tries);
  }

  /** Drops all. */
  clear(): void {
    const { memory } = this.#deps;
    for (const event of this.#handed) memory.release(bytesOf(event));
    for (const event of this.#waiting.slice(this.#at)) memory.release(bytesOf(event));
    this.#handed.clear();
    this.#waiting = [];
    this.#at = 0;
    if (this.#pause !== null) clearTimeout(this.#pause);
    this.#pause = null;
  }
}

function bytesOf({ data, content, socket }: QueuedEvent): number {
  const kept = content.event === 'close' ? (socket.attachment?.length ?? 0) : 0;
  return EVENT_BYTES + 2 * ((data?.length ?? 0) + kept);
}

// Wakes claim loops when something due is written. A lost notification costs a poll interval, never a delivery, so it
// is sent after the commit: NOTIFY in a transaction serializes all commits.
import type { Listener } from './listener.ts';

/** Something in a lane is due at `dueAt`, ms since 1970. */
type WakeListener = (kind: string, lane: number, dueAt: number) => void;

/** Wakes claim loops, here and in other processes. */
export interface Wake {
  notify(kind: string, lane: number, dueAt: number): void;
  /** Resolves when the connection listens. The listener is also called for notifications of this process. */
  listen(listener: WakeListener): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

const channel = 'platform_wake';
/** A payload is limited to 8,000 bytes. */
const WORDS_MAX = 150;
/** The first notification is sent immediately; further notifications within this time after it are sent together. */
const GATHER_MS = 10;
/**
 * Times further ahead are notified once: a loop that wakes then looks up the next time. This is longer than the clocks
 * of machines may differ.
 */
const AHEAD_MS = 2000;
/** Lanes whose notified next time is cached; above this, all are dropped. */
const SAID_MAX = 10_000;

/** Closing does not wait for an unavailable server. */
const CLOSE_MS_MAX = 1000;

/** Resolves when the work has succeeded, failed, or timed out. */
export function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return Promise.race([
    work.then(
      () => {},
      () => {},
    ),
    late,
  ]).finally(() => clearTimeout(timer));
}

/**
 * Over NOTIFY; several notifications for a lane within a moment are merged. A listening process stores future times
 * itself.
 *
 * @param notify a function that sends one NOTIFY with this payload on a channel. @param hear listens on a channel;
 * called once.
 */
export function createPostgresWake(
  notify: (channel: string, payload: string) => Promise<unknown>,
  hear: (channel: string, onPayload: (payload: string) => void) => Promise<Listener>,
): Wake {
  const here = createLocalWake();
  let ear: Promise<Listener> | null = null;
  let listeners = 0;
  let waiting = new Set<string>();
  /** The notified next time of a lane, while it is far enough ahead. */
  const said = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let isPending = false;
  let sentAt = -Infinity;
  let sending: Promise<void> = Promise.resolve();

  async function send(): Promise<void> {
    isPending = false;
    sentAt = performance.now();
    const words = [...waiting];
    waiting = new Set();
    for (let at = 0; at < words.length; at += WORDS_MAX) {
      try {
        await notify(channel, words.slice(at, at + WORDS_MAX).join(','));
      } catch {
        // The poll finds this row.
      }
    }
  }

  function sendSoon(): void {
    sending = sending.then(send);
  }

  /** Whether a loop that knows an earlier time will check the lane by then anyway. */
  function isSaid(lane: string, dueAt: number, now: number): boolean {
    const before = said.get(lane);
    if (before !== undefined && before > now + AHEAD_MS && before <= dueAt) return true;
    if (said.size >= SAID_MAX) said.clear();
    said.set(lane, dueAt);
    return false;
  }

  function tell(payload: string): void {
    for (const word of payload.split(',')) {
      const [kind, lane, dueAt] = word.split(':');
      if (kind !== undefined) here.notify(kind, Number(lane), Number(dueAt));
    }
  }

  return {
    notify(kind, lane, dueAt) {
      const now = Date.now();
      if (dueAt > now + AHEAD_MS) {
        // If this process exits before that time, other processes find the row with their poll.
        if (listeners > 0) return here.notify(kind, lane, dueAt);
        if (isSaid(`${kind}:${lane}`, dueAt, now)) return;
      }
      // Times that are already due count as one time, so that each lane gets one notification for all of them.
      waiting.add(`${kind}:${lane}:${dueAt <= now ? 0 : dueAt}`);
      if (isPending) return;
      isPending = true;
      const waitMs = sentAt + GATHER_MS - performance.now();
      if (waitMs > 0) timer = setTimeout(sendSoon, waitMs);
      else setImmediate(sendSoon);
    },
    async listen(listener) {
      listeners++;
      const local = await here.listen(listener);
      const close = (): Promise<void> => {
        listeners--;
        return local.close();
      };
      try {
        await (ear ??= hear(channel, tell));
      } catch (error) {
        ear = null;
        await close();
        throw error;
      }
      return { close };
    },
    async close() {
      if (timer !== null) clearTimeout(timer);
      if (isPending) sendSoon();
      await atMost(CLOSE_MS_MAX, sending);
      await here.close();
      if (ear !== null)
        await atMost(
          CLOSE_MS_MAX,
          ear.then((listener) => listener.close()),
        );
    },
  };
}

/** Within this process. */
export function createLocalWake(): Wake {
  const listeners = new Set<WakeListener>();
  return {
    notify: (kind, lane, dueAt) => {
      for (const listener of listeners) listener(kind, lane, dueAt);
    },
    async listen(listener) {
      listeners.add(listener);
      return { close: async () => void listeners.delete(listener) };
    },
    close: async () => listeners.clear(),
  };
}

// How those who write something that is due wake those who wait for it. A word that is lost costs a poll's time, never a
// delivery, so it goes out after the commit and not inside: NOTIFY in a transaction makes all commits take turns.
import { isConnectionTrouble, type Postgres } from './connection.ts';

/** Something in a lane is due at `dueAt`, ms since 1970. */
export type WakeListener = (kind: string, lane: number, dueAt: number) => void;

/** A way to wake claim loops, here and in other processes. */
export interface Wake {
  notify(kind: string, lane: number, dueAt: number): void;
  /** Resolves when it listens. The listener is called for what this process notifies too. */
  listen(listener: WakeListener): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

const channel = 'platform_wake';
/** A payload has less than 8,000 bytes. */
const wordsMax = 150;
/** Words of this long go out together. */
const gatherMs = 2;

/** A server that is away is not waited for. */
const closeMsMax = 1000;

/** Resolves when the work is done, has failed, or takes too long. */
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

/** Over NOTIFY; several words for a lane within a moment become one. */
export function createPostgresWake(sql: Postgres): Wake {
  const waiting = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> = Promise.resolve();

  async function send(): Promise<void> {
    timer = null;
    const words = [...waiting];
    waiting.clear();
    for (let at = 0; at < words.length; at += wordsMax) {
      try {
        await sql`SELECT pg_notify(${channel}, ${words.slice(at, at + wordsMax).join(',')})`;
      } catch (error) {
        // The poll finds it.
        if (!isConnectionTrouble(error)) throw error;
      }
    }
  }

  return {
    notify(kind, lane, dueAt) {
      // What is due by now is one word a lane, whenever exactly it was due.
      waiting.add(`${kind}:${lane}:${dueAt <= Date.now() ? 0 : dueAt}`);
      timer ??= setTimeout(() => {
        sending = sending.then(send).catch(() => {});
      }, gatherMs);
    },
    async listen(listener) {
      const { unlisten } = await sql.listen(channel, (payload) => {
        for (const word of payload.split(',')) {
          const [kind, lane, dueAt] = word.split(':');
          if (kind !== undefined) listener(kind, Number(lane), Number(dueAt));
        }
      });
      return { close: () => atMost(closeMsMax, unlisten()) };
    },
    async close() {
      if (timer !== null) {
        clearTimeout(timer);
        sending = sending.then(send).catch(() => {});
      }
      await sending;
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

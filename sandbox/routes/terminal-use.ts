// Holds a sandbox for a terminal as long as somebody uses it, for routes.ts. One over which nothing passes lets go
// after a while, so that its sandbox is suspended like any other; with the next byte it is held again, which wakes it.
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { HeldSandbox, Sandboxes } from './held-sandboxes.ts';

/** Of a terminal, after the last byte. What the sandbox's own idle time counts begins then. */
export const TERMINAL_QUIET_MS = 60_000;
/** Somebody may have suspended the sandbox meanwhile: what is typed after so long makes sure that it runs. */
const SURE_MS = 1000;

/** The use of one terminal. */
export interface TerminalUse {
  /** Passes on what is typed. */
  typed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Passes on what is printed. */
  printed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Fires where the sandbox cannot be held any more: it is gone, or another replica has it. */
  readonly lost: AbortSignal;
  /** It is over. */
  release(): void;
}

export function useForTerminal(
  sandboxes: Pick<Sandboxes, 'holdKey'>,
  place: SandboxPlace,
  first: HeldSandbox,
  quietMs: number,
): TerminalUse {
  const { key } = first;
  let held: HeldSandbox | null = first;
  let sureAt = performance.now();
  let isOver = false;
  const lost = new AbortController();
  const timer = setTimeout(() => {
    held?.release();
    held = null;
  }, quietMs);

  async function hold(isTyped: boolean): Promise<void> {
    timer.refresh();
    const now = performance.now();
    if (held !== null && !(isTyped && now - sureAt > SURE_MS)) return;
    sureAt = now;
    try {
      const next = await sandboxes.holdKey(place, key);
      held?.release();
      held = next;
      if (isOver) held.release();
    } catch (error) {
      lost.abort(error);
      throw error;
    }
  }

  async function* passing<Chunk>(chunks: AsyncIterable<Chunk>, isTyped: boolean): AsyncGenerator<Chunk> {
    for await (const chunk of chunks) {
      await hold(isTyped);
      yield chunk;
    }
  }

  return {
    typed: (chunks) => passing(chunks, true),
    printed: (chunks) => passing(chunks, false),
    lost: lost.signal,
    release() {
      isOver = true;
      clearTimeout(timer);
      held?.release();
    },
  };
}

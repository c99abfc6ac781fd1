// Holds a sandbox while its terminal is in use, for routes.ts. An idle terminal releases its sandbox after a while, so
// that the sandbox can be suspended. The next byte holds the sandbox again, which resumes it.
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { HeldSandbox, Sandboxes } from './held-sandboxes.ts';

/** Time after the last byte. The sandbox's own idle time starts then. */
export const TERMINAL_QUIET_MS = 60_000;
/** The sandbox may have been suspended explicitly: after this time, input first ensures that it runs. */
const SURE_MS = 1000;

/** Tracks the use of one terminal. */
interface TerminalUse {
  /** Forwards input. */
  typed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Forwards output. */
  printed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Aborts when the sandbox cannot be held any more: it was destroyed, or another replica holds it. */
  readonly lost: AbortSignal;
  /** Releases the sandbox. */
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

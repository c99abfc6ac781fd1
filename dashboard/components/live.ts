// A part of a page that follows what it shows: asks again when something has happened and every few seconds, and draws
// only what has changed, so that nothing moves under a reader's hands.
import { problem } from './controls.ts';
import { element, fill, type Child } from './element.ts';

/** Where a view stands, and for how long. */
export interface Stage {
  readonly root: HTMLElement;
  /** Fires when another view takes its place. */
  readonly signal: AbortSignal;
  /** Calls back when something has happened in the project. */
  readonly onChange: (listener: () => void) => void;
}

/** A part that is kept up to date. */
export interface Live {
  readonly node: HTMLElement;
  /** Asks now. */
  refresh(): Promise<void>;
}

const EVERY_MS = 3000;
const SETTLE_MS = 150;

export function live<Answer>(stage: Stage, load: () => Promise<Answer>, draw: (answer: Answer) => Child): Live {
  const node = element('div');
  let before: string | null = null;
  let soon: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;

  async function refresh(): Promise<void> {
    const number = ++latest;
    try {
      const answer = await load();
      // A slower answer to an earlier question.
      if (number !== latest || stage.signal.aborted) return;
      const now = JSON.stringify(answer);
      if (now === before) return;
      before = now;
      fill(node, draw(answer));
    } catch (error) {
      if (number !== latest || stage.signal.aborted) return;
      before = null;
      fill(node, problem(error));
    }
  }

  const timer = setInterval(() => {
    if (!document.hidden) void refresh();
  }, EVERY_MS);
  stage.onChange(() => {
    clearTimeout(soon);
    soon = setTimeout(() => void refresh(), SETTLE_MS);
  });
  stage.signal.addEventListener('abort', () => {
    clearInterval(timer);
    clearTimeout(soon);
  });
  void refresh();
  return { node, refresh };
}

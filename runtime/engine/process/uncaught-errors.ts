// What an engine does with an uncaught exception: it asks to be replaced and goes on meanwhile, since ending at
// once would take everybody's requests with it. main.ts joins it to the process.

/** What it works with. */
interface LastResortParts {
  /** The supervisor can be asked. */
  readonly isSupervised: () => boolean;
  readonly askForReplacement: (reason: string) => void;
  readonly log: (error: unknown) => void;
  readonly end: () => void;
  readonly later?: (callback: () => void, ms: number) => void;
}

/** Beyond these it is no accident: whatever is broken breaks on. */
const ERRORS_MAX = 10;
/** It is replaced and drained by then. */
const REPLACED_MS = 30_000;

/** The listener of `uncaughtException`. */
export function createLastResort(parts: LastResortParts): (error: unknown) => void {
  const { later = (callback, ms) => void setTimeout(callback, ms).unref() } = parts;
  let errors = 0;
  return (error) => {
    parts.log(error);
    errors++;
    if (!parts.isSupervised() || errors > ERRORS_MAX) {
      parts.end();
      return;
    }
    if (errors > 1) return;
    parts.askForReplacement('uncaught exception');
    later(parts.end, REPLACED_MS);
  };
}

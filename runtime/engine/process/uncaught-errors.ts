// Handles an uncaught exception of an engine. The engine requests a replacement and continues in the meantime, since an
// immediate exit would cut all running requests. main.ts connects it to the process.

/** Dependencies. */
interface LastResortDeps {
  /** Whether there is a supervisor to ask. */
  readonly isSupervised: () => boolean;
  readonly askForReplacement: (reason: string) => void;
  readonly log: (error: unknown) => void;
  readonly end: () => void;
  readonly later?: (callback: () => void, ms: number) => void;
}

/** With more exceptions than this, the fault is persistent. */
const ERRORS_MAX = 10;
/** After this time, the engine has been replaced and drained. */
const REPLACED_MS = 30_000;

/** The listener of `uncaughtException`. */
export function createLastResort(deps: LastResortDeps): (error: unknown) => void {
  const { later = (callback, ms) => void setTimeout(callback, ms).unref() } = deps;
  let errors = 0;
  return (error) => {
    deps.log(error);
    errors++;
    if (!deps.isSupervised() || errors > ERRORS_MAX) {
      deps.end();
      return;
    }
    if (errors > 1) return;
    deps.askForReplacement('uncaught exception');
    later(deps.end, REPLACED_MS);
  };
}

// reportError and the reporting of exceptions that no script can catch (event listeners, microtasks, timers). main.ts
// sets `uncaught.report`, which fires the `error` event of the global and logs unhandled errors.
import { requireArguments } from './webidl.ts';

/** Receives uncaught exceptions; ignores them until the engine sets it. */
export const uncaught: { report(error: unknown): void } = { report: () => {} };

/** Reports an exception of a callback to the engine. */
export function reportException(error: unknown): void {
  uncaught.report(error);
}

/** The global `reportError`. */
export function reportError(error: unknown): void {
  requireArguments(arguments.length, 1, 'reportError');
  uncaught.report(error);
}

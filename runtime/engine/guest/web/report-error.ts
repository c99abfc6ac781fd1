// reportError and the way out for exceptions that no script can catch (event listeners, microtasks, timers). main.ts
// sets `uncaught.report`, which fires the `error` event of the global and logs what is left.
import { requireArguments } from './webidl.ts';

/** Where uncaught exceptions go; swallowed until the engine sets it. */
export const uncaught: { report(error: unknown): void } = { report: () => {} };

/** Hands an exception that a callback threw to the engine. */
export function reportException(error: unknown): void {
  uncaught.report(error);
}

/** The global `reportError`. */
export function reportError(error: unknown): void {
  requireArguments(arguments.length, 1, 'reportError');
  uncaught.report(error);
}

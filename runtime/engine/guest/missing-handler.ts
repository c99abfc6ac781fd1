// The error of an event for which the worker exports no handler. It crosses the bridge under a code of its own, so that
// the sender of the event can tell it from one that a handler threw.
import type { Failure } from '../bridge/protocol.ts';

class MissingHandler extends Error {
  // A mark that no tenant can forge or read.
  readonly #mark = true;

  static is(error: unknown): error is MissingHandler {
    return typeof error === 'object' && error !== null && #mark in error && error.#mark;
  }
}

/** @param handler how the worker would export it: `message`, `workflows.order.handler`. */
export function noHandler(handler: string): Error {
  return new MissingHandler(handler);
}

export const isMissingHandler = MissingHandler.is;

export function missingHandler(error: Error): Failure {
  return { code: 'no_event_handler', name: 'Error', message: error.message };
}

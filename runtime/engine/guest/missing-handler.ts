// The error of an event for which the worker exports no handler. This error has its own code on the bridge, so that the
// sender can distinguish it from an error that a handler threw.
import type { Failure } from '../bridge/protocol.ts';

class MissingHandler extends Error {
  // A mark that tenants can neither forge nor read.
  readonly #mark = true;

  static is(error: unknown): error is MissingHandler {
    return typeof error === 'object' && error !== null && #mark in error && error.#mark;
  }
}

/** @param handler the handler's name as the worker would export it: `message`, `workflows.order.handler`. */
export function noHandler(handler: string): Error {
  return new MissingHandler(handler);
}

export const isMissingHandler = MissingHandler.is;

export function missingHandler(error: Error): Failure {
  return { code: 'no_event_handler', name: 'Error', message: error.message };
}

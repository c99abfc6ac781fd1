// The CPU limits of what runs here, and from them how long code may run where V8 cannot interrupt it: the native watch
// ends it after that. main.ts sets them, dispatch.ts asks.
import type { Native } from './context.ts';

let native: Native;
let requestMs = 0;
/** The longest of all that has been asked of the worker; 0 once something had none. */
let longestMs = 0;
let isServing = false;

/**
 * Of a request, which those that come before the worker serves have as well, and of the top level, which runs now; 0:
 * none.
 */
export function limitCpu(functions: Native, ofRequestMs: number, startupMs: number): void {
  native = functions;
  requestMs = ofRequestMs;
  longestMs = ofRequestMs;
  native.stretch(startupMs);
}

/** CPU limit of a request. */
export function requestLimitMs(): number {
  return requestMs;
}

/** The top level has run: from here on it is requests and events. */
export function limitWorker(): void {
  isServing = true;
  native.stretch(longestMs);
}

/** An event with that limit has come. */
export function limitEvent(limitMs: number): void {
  if (longestMs === 0 || (limitMs !== 0 && limitMs <= longestMs)) return;
  longestMs = limitMs;
  if (isServing) native.stretch(longestMs);
}

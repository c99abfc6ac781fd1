// The CPU limits of the running code, and the derived limit for code that V8 cannot interrupt, after which the native
// watch ends it. main.ts sets them, dispatch.ts reads them.
import type { Native } from './context.ts';

let native: Native;
let requestMs = 0;
/** The longest limit of all events so far; 0 if one of them had no limit. */
let longestMs = 0;
let isServing = false;

/**
 * Sets the CPU limits of requests and of the top level, which runs now; 0 means no limit. Requests that arrive before
 * the worker is ready have the same limit.
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

/** Called when the top level has run: only requests and events follow. */
export function limitWorker(): void {
  isServing = true;
  native.stretch(longestMs);
}

/** Called when an event with this limit has arrived. */
export function limitEvent(limitMs: number): void {
  if (longestMs === 0 || (limitMs !== 0 && limitMs <= longestMs)) return;
  longestMs = limitMs;
  if (isServing) native.stretch(longestMs);
}

// The host half of `error.stack`: maps positions in the bundle to positions in the sources (invocation/log.ts).
import type { SyncHostFunction } from '../bridge/host-calls.ts';

const STACK_CHARS_MAX = 4096;

/** Synchronous calls `stack.*`. */
export const stackCalls: Readonly<Record<string, SyncHostFunction>> = {
  'stack.map': (args, _part, isolate) => {
    const { text } = (args ?? {}) as { text?: unknown };
    if (typeof text !== 'string' || text.length > STACK_CHARS_MAX)
      throw new TypeError('The stack must be a string of bounded length');
    return isolate.mapStack(text);
  },
};

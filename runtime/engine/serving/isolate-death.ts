// What the death of an isolate means: how its requests end, what the log says, what it counts as. Pure; serving.ts acts
// on it.
import { errorMessage, PlatformError } from '#core/errors.ts';
import { failed, type Outcome } from '../invocation/outcome.ts';
import type { DeathReason } from '../isolates/isolate.ts';
import type { EngineCounters } from '../metrics/counters.ts';

/** A death, for all who hear of it. */
interface Death {
  readonly outcome: Outcome;
  readonly message: string;
  readonly countsAs: keyof Pick<EngineCounters, 'isolatesFaulty' | 'isolatesOutOfMemory'> | null;
}

/**
 * How an event ends whose isolate died: it has had its attempt, since it may be what the isolate died of. One that was
 * replaced for another's sake comes again uncounted.
 */
export function endOfEvent(outcome: Outcome): Outcome {
  return outcome.kind === 'failed' && outcome.code === 'isolate_replaced'
    ? failed('isolate_lost', outcome.details)
    : outcome;
}

/**
 * @param error what was thrown where the reason is `fault`.
 * @param limitMb memory limit of the isolate.
 * @example deathOf('stuck', null, 128).outcome // failed('isolate_replaced', { reason: 'its code could not be ended' })
 */
export function deathOf(reason: DeathReason, error: unknown, limitMb: number): Death {
  if (reason === 'stuck') {
    const message = 'Isolate replaced: its code could not be ended';
    return { outcome: failed('isolate_replaced', { reason: 'its code could not be ended' }), message, countsAs: null };
  }
  const known = error instanceof PlatformError ? error : null;
  if (reason === 'fault' && known?.code !== 'memory_limit_exceeded') {
    if (known?.code === 'isolate_replaced')
      return { outcome: failed(known.code, known.details), message: known.message, countsAs: 'isolatesFaulty' };
    const message = `Isolate faulted: ${String((error as Error).stack)}`;
    return { outcome: failed('internal'), message, countsAs: 'isolatesFaulty' };
  }
  const message = `${errorMessage('memory_limit_exceeded', { limitMb })}${reason === 'aborted' ? ' (at once)' : ''}`;
  return { outcome: failed('memory_limit_exceeded', { limitMb }), message, countsAs: 'isolatesOutOfMemory' };
}

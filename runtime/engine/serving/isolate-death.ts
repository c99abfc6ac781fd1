// The consequences of an isolate's death: how its requests end, what is logged, how it is counted. Pure; serving.ts
// acts on it.
import { errorMessage, PlatformError } from '#core/errors.ts';
import { failed, type Outcome } from '../invocation/outcome.ts';
import type { DeathReason } from '../isolates/isolate-events.ts';
import type { EngineCounters } from '../metrics/counters.ts';

/** The consequences of a death. */
interface Death {
  readonly outcome: Outcome;
  readonly message: string;
  readonly countsAs: keyof Pick<EngineCounters, 'isolatesFaulty' | 'isolatesOutOfMemory'> | null;
}

/**
 * The outcome of an event whose isolate dies. The delivery is counted as an attempt, because the event may have caused
 * the death. If the isolate was replaced because of another invocation, the event is delivered again, and the delivery
 * is not counted.
 */
export function endOfEvent(outcome: Outcome): Outcome {
  return outcome.kind === 'failed' && outcome.code === 'isolate_replaced'
    ? failed('isolate_lost', outcome.details)
    : outcome;
}

/**
 * @param error the thrown value, if the reason is `fault`.
 * @param limitMb the memory limit of the isolate.
 * @example deathOf('stuck', null, 128).outcome // failed('isolate_replaced', { reason: 'its code could not be ended'
 * })
 */
export function deathOf(reason: DeathReason, error: unknown, limitMb: number): Death {
  if (reason === 'stuck') {
    const message = 'Isolate replaced: its code could not be terminated';
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

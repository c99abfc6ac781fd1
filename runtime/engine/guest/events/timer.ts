// A timer that is due, for the worker's `timer` handler. A module of lazy.ts.
import type { LazyParts } from '../lazy.ts';
import type { EventHandler } from '../dispatch.ts';

/** What the host says of it. */
interface TimerEvent {
  readonly binding: string;
  readonly id: string;
  readonly scheduledTime: number;
  readonly payload: unknown;
  readonly intervalMs: number | null;
}

export default function createTimerEvents({ noHandler }: LazyParts): { handle: EventHandler } {
  return {
    async handle(worker, env, context, event) {
      if (typeof worker?.['timer'] !== 'function') throw noHandler('timer');
      const { binding, id, scheduledTime, payload, intervalMs } = event as TimerEvent;
      await worker['timer']({ id, scheduledTime, payload, intervalMs, binding }, env, context);
      return null;
    },
  };
}

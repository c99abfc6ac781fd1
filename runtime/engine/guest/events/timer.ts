// A timer that is due, for the worker's `timer` handler. lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';
import type { EventHandler } from '../dispatch.ts';

/** The event from the host. */
interface TimerEvent {
  readonly binding: string;
  readonly id: string;
  readonly scheduledTime: number;
  /** Only set in an event that an operator injected; otherwise, the payload is in the body. */
  readonly payload?: unknown;
  readonly intervalMs: number | null;
}

export default function createTimerEvents({ fromJson, noHandler }: LazyDeps): { handle: EventHandler } {
  return {
    async handle(worker, env, context, event, [body]) {
      if (typeof worker?.['timer'] !== 'function') throw noHandler('timer');
      const { binding, id, scheduledTime, payload, intervalMs } = event as TimerEvent;
      const given = body === undefined ? payload : fromJson(body);
      await worker['timer']({ id, scheduledTime, payload: given, intervalMs, binding }, env, context);
      return null;
    },
  };
}

// A run of a `cron` schedule, for the worker's `scheduled` handler (or `cron` handler). lazy.ts loads this module when
// it is first used.
import type { LazyDeps } from '../lazy.ts';
import type { EventHandler } from '../dispatch.ts';

/** The event from the host. */
interface CronEvent {
  /** The name of the schedule in platform.yaml. */
  readonly name: string;
  /** The expression. */
  readonly cron: string;
  readonly scheduledTime: number;
}

export default function createCronEvents({ noHandler, reportUncaught, currentInvocation }: LazyDeps): {
  handle: EventHandler;
} {
  return {
    async handle(worker, env, context, event) {
      const { name, cron, scheduledTime } = event as CronEvent;
      const handler = typeof worker?.['scheduled'] === 'function' ? 'scheduled' : 'cron';
      if (typeof worker?.[handler] !== 'function') throw noHandler('scheduled');
      let isRetried = true;
      const controller = {
        type: 'scheduled',
        name,
        cron,
        scheduledTime,
        noRetry() {
          isRetried = false;
        },
      };
      const call = worker[handler] as (...args: unknown[]) => unknown;
      let thrown: string | null = null;
      try {
        await call.call(worker, controller, env, context);
      } catch (error) {
        // A run that opted out of retries has ended, regardless of the error.
        if (isRetried) throw error;
        reportUncaught(error, 'Uncaught', currentInvocation());
        thrown = String((error as { message?: unknown } | null | undefined)?.message ?? error);
      }
      return { noRetry: !isRetried, ...(thrown === null ? {} : { thrown }) };
    },
  };
}

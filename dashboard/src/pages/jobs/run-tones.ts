// Statuses of workflow runs and their tones.
import type { Tone } from '../../components/state.tsx';

/** The tones by the status of the API. */
export const runTones: Readonly<Record<string, Tone>> = {
  pending: 'neutral',
  running: 'running',
  paused: 'warning',
  completed: 'ok',
  failed: 'failed',
  cancelled: 'neutral',
};

/** The status to show: a run that has begun and is `pending` either sleeps or waits for an event. */
export function shownStatus(run: { readonly status: string; readonly startedAt: number | null }): string {
  return run.status === 'pending' && run.startedAt !== null ? 'waiting' : run.status;
}

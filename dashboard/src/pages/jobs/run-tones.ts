// Tones of the statuses of workflow runs.
import type { Tone } from '../../components/state.tsx';

export const runTones: Readonly<Record<string, Tone>> = {
  pending: 'neutral',
  running: 'running',
  paused: 'warning',
  completed: 'ok',
  failed: 'failed',
  cancelled: 'neutral',
};

// The loop that processes deliveries and reports. Woken by NOTIFY, with polling since notifications can be lost.
import type { Dependencies } from '../process/dependencies.ts';

interface FollowOptions {
  /** For the log. */
  readonly name: string;
  /** Payload of `control_git` that wakes it. */
  readonly payload: string;
  readonly pollMs: number;
}

/**
 * Runs `work` when woken and at least every `pollMs`, one run at a time, until the process ends.
 *
 * @param work returns whether to run again immediately.
 */
export async function followWork(
  deps: Pick<Dependencies, 'log' | 'onNotify' | 'stopping'>,
  { name, payload, pollMs }: FollowOptions,
  work: () => Promise<boolean>,
): Promise<void> {
  let isWoken = true;
  let wake = (): void => {};
  const wakeUp = (): void => {
    isWoken = true;
    wake();
  };
  await deps.onNotify('control_git', (heard) => {
    if (heard === payload) wakeUp();
  });
  deps.stopping.addEventListener('abort', wakeUp);
  while (!deps.stopping.aborted) {
    isWoken = false;
    try {
      if (await work()) continue;
    } catch (error) {
      if (!deps.stopping.aborted) deps.log.error({ err: error }, `${name}: not done, tried again`);
    }
    if (isWoken || deps.stopping.aborted) continue;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wake = () => {};
  }
}

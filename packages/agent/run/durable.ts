// Steps of a run: a completed step is not repeated, and a run whose workspace has moved on is detected. Used by this
// whole folder.
import type { WorkflowStep } from '@platform-run/types';
import { Superseded } from '../workspaces.ts';

/** A step; null if the workspace has moved on. */
export async function durable<Result>(
  step: WorkflowStep,
  name: string,
  fn: () => Promise<Result>,
  options?: { retries?: number; timeoutMs?: number },
): Promise<Result | null> {
  const { value } = await step.run(
    name,
    async (): Promise<{ value: Result | null }> => {
      try {
        return { value: await fn() };
      } catch (error) {
        if (error instanceof Superseded) return { value: null };
        throw error;
      }
    },
    options,
  );
  return value;
}

/** A step that may fail permanently without failing the run: the error is logged. */
export async function optional(
  step: WorkflowStep,
  runId: string,
  name: string,
  fn: () => Promise<void>,
): Promise<void> {
  try {
    await durable(step, name, fn);
  } catch (error) {
    console.error(`The step ${name} of the agent's run ${runId} failed:`, error);
  }
}

/** Logs an error after which the run continues. */
export function warn(error: unknown): void {
  console.warn(`The agent continues after an error: ${error instanceof Error ? error.message : String(error)}`);
}

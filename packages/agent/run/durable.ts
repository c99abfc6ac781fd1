// Steps of a run: one that is done is not done again, and one whose workspace went on without the run says so.
// Called by all of this folder.
import type { WorkflowStep } from '@platform-run/types';
import { Superseded } from '../workspaces.ts';

/** A step; null when the workspace went on without the run. */
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

/** A step that may fail for good without failing the run: the log has it, as an error. */
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

/** What the run goes on after. */
export function warn(error: unknown): void {
  console.warn(`The agent goes on after an error: ${error instanceof Error ? error.message : String(error)}`);
}

// The only operation of the engine on sandboxes, which returns their location. The sandbox service has all other
// operations.
import type { Nothing } from './arguments.ts';

/** Operations on sandboxes. */
export interface SandboxOperations {
  /** Names of a binding's sandboxes in the sandbox service, including a preview's branch. */
  readonly 'sandbox.place': {
    readonly takes: Nothing;
    readonly gives: { readonly project: string; readonly resource: string };
  };
}

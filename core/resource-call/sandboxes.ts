// The engine's operation on sandboxes: only their location. The sandbox service has the others.
import type { Nothing } from './arguments.ts';

/** Operations on sandboxes. */
export interface SandboxOperations {
  /** Names of a binding's sandboxes in the sandbox service, including a preview's branch. */
  readonly 'sandbox.place': {
    readonly takes: Nothing;
    readonly gives: { readonly project: string; readonly resource: string };
  };
}

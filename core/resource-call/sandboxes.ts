// What of sandboxes is asked of an engine: only where they are. The sandbox service has the rest.
import type { SandboxPlace } from '../sandbox/operations.ts';
import type { Nothing } from './arguments.ts';

/** Of sandboxes. */
export interface SandboxOperations {
  /** Under which names the sandbox service has those of a binding, of a preview with its branch's. */
  readonly 'sandbox.place': { readonly takes: Nothing; readonly gives: Omit<SandboxPlace, 'id'> };
}

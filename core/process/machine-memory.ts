// Memory of the machine, or of the container that this process is in. Impure.
import { totalmem } from 'node:os';

/** In bytes. */
export function machineMemory(): number {
  // Constrained memory is 0 if the system does not report it, and larger than the total without a limit.
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

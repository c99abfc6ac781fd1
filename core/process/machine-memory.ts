// Memory of the machine, or of the container that this process is in. Impure.
import { totalmem } from 'node:os';

/** In bytes. */
export function machineMemory(): number {
  // 0 where the system does not say, and more than there is where no bound is set.
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

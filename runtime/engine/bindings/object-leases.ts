// The interface of the leases that decide which engine has a durable object; stores/object-leases-postgres.ts is one.
// Types only.
import type { DatabasePlace } from './scope.ts';

/** Decides which engine has an object. */
export interface ObjectLeases {
  /** Whether what this engine has is still its own; if not, it has nothing any more. */
  isValid(): boolean;
  /**
   * @returns the number of the holder, larger than those before.
   * @throws {Failure} `object_held` when another engine has it.
   */
  acquire(place: DatabasePlace): Promise<number>;
  /** @param fence of the holder. */
  release(place: DatabasePlace, fence: number): void;
  /** Links of the other engines that have objects of a namespace. */
  others(namespace: string): Promise<string[]>;
  /** This engine has dropped all that it had. */
  lapsed(): void;
}

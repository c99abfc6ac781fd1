// The interface of the leases that decide which engine has a durable object. stores/object-leases-postgres.ts
// implements it. Types only.
import type { DatabasePlace } from './scope.ts';

/** Decides which engine has an object. */
export interface ObjectLeases {
  /** Whether this engine still holds its objects; if not, it has lost all of them. */
  isValid(): boolean;
  /**
   * @returns the number of the holder, larger than all previous numbers.
   * @throws {Failure} `object_held` when another engine has it.
   */
  acquire(place: DatabasePlace): Promise<number>;
  /** @param fence the number of the holder. */
  release(place: DatabasePlace, fence: number): void;
  /** Sockets of the other engines that have objects of a namespace. */
  others(namespace: string): Promise<string[]>;
  /** Called when this engine has dropped all its objects. */
  lapsed(): void;
}

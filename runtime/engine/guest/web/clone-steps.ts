// How platform objects are cloned and transferred: whoever has such objects says so here, and structuredClone, which
// comes with its first use (../lazy/messages), reads it.

/** How a kind of platform object is cloned or transferred. */
interface CloneSteps {
  /** A copy, or undefined when the value is of another kind. */
  clone?(value: object): object | undefined;
  /** Whether the value is of this kind and can be transferred; throws when it no longer can. */
  canTransfer?(value: object): boolean;
  /** Moves the value to a new object once everything was copied. */
  transfer?(value: object): object;
}

/** All that were registered, oldest first. */
export const platformSteps: CloneSteps[] = [];

export function registerCloneSteps(steps: CloneSteps): void {
  platformSteps.push(steps);
}

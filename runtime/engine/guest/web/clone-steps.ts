// Cloning and transfer of platform objects. The modules of these objects register the steps here, and structuredClone,
// which is loaded on first use (../lazy/messages), calls them.

/** Steps to clone or transfer one kind of platform object. */
interface CloneSteps {
  /** Returns a copy, or undefined when the value is of another kind. */
  clone?(value: object): object | undefined;
  /** Whether the value is of this kind and can be transferred; throws when it no longer can. */
  canTransfer?(value: object): boolean;
  /** Moves the value to a new object, after everything was copied. */
  transfer?(value: object): object;
}

/** All registered steps, oldest first. */
export const platformSteps: CloneSteps[] = [];

export function registerCloneSteps(steps: CloneSteps): void {
  platformSteps.push(steps);
}

// The object that the other side of an RPC session calls first. entrypoints.ts and lazy/objects.ts provide it,
// lazy/rpc/session.ts calls it. Types only.

/** The main object of a session. */
export interface SessionMain {
  /** The object, created when it is first called. @throws if there is no session. */
  object(): unknown;
  /**
   * Changes the arguments of a call of a method of the main object. Without this function, the arguments are unchanged.
   */
  adapt?(name: string, args: readonly unknown[]): readonly unknown[];
  /** Whether a member of the main object cannot be called, although its class declares it. */
  hides?(name: string): boolean;
  /** Runs a call of the other side, on any object. Without this function, calls run immediately. */
  run?(call: () => unknown): Promise<unknown>;
}

// The object that the other side of an RPC session calls first. entrypoints.ts and lazy/objects.ts provide it,
// lazy/rpc/session.ts calls it. Types only.

/** The main object of a session. */
export interface SessionMain {
  /** Returns the object, which is created when it is first called. @throws if there is no session. */
  object(): unknown;
  /** Changes the arguments when a method of the main object is called. If absent, the arguments are unchanged. */
  adapt?(name: string, args: readonly unknown[]): readonly unknown[];
  /** Whether a member of the main object cannot be called, although its class declares it. */
  hides?(name: string): boolean;
  /** Runs a call of the other side, on any object. If absent, calls run immediately. */
  run?(call: () => unknown): Promise<unknown>;
}

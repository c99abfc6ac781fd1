// Confinement of untrusted processes on this machine. Types only.

/** How untrusted code is confined here; determined once, when the process starts. */
export interface Confinement {
  /**
   * `namespaces` means user, process and mount namespaces; `user` means a separate user, if the platform runs as root;
   * `none` means that neither works.
   */
  readonly kind: 'namespaces' | 'user' | 'none';
  /** Why the confinement is not stronger, for the operator; null if it is the strongest. */
  readonly reason: string | null;
  /** The first user id, one per slot, also in namespaces; absent or null for the platform's own user. */
  readonly firstUid?: number | null;
  /** Path of the program that creates `namespaces`: `bwrap`, or our own with the same arguments. */
  readonly fence?: string;
  /**
   * Whether confined processes can create user namespaces, because this bubblewrap (before 0.8) is too old to forbid
   * it.
   */
  readonly mayNest?: boolean;
  /**
   * Path of the program that keeps processes from creating user namespaces; undefined if the kernel supports no such
   * filter.
   */
  readonly filter?: string;
  /** Whether confined processes in namespaces use the machine's network, because no separate network can be created. */
  readonly sharesNetwork?: boolean;
  /** Whether memory and processes are monitored instead of limited by control groups. */
  readonly withoutGroups?: boolean;
}

// Confinement of untrusted processes on this machine. Types only.

/** How untrusted code is confined here; determined once, when the process starts. */
export interface Confinement {
  /**
   * `namespaces`: user, process and mount namespaces; `user`: a separate user, if the platform runs as root; `none`:
   * neither works.
   */
  readonly kind: 'namespaces' | 'user' | 'none';
  /** Why the confinement is not stronger, for the operator; null if it is the strongest. */
  readonly reason: string | null;
  /** The first user id, one per slot, also in namespaces; absent or null for the platform's own user. */
  readonly firstUid?: number | null;
  /** Path of the program that creates `namespaces`: `bwrap`, or our own with the same arguments. */
  readonly fence?: string;
  /** Confined processes can create user namespaces: this bubblewrap is too old to forbid this (before 0.8). */
  readonly mayNest?: boolean;
  /** Path of the program that forbids them user namespaces; undefined if the kernel supports no such filter. */
  readonly filter?: string;
  /** In namespaces, confined processes use the machine's network, since none can be created. */
  readonly sharesNetwork?: boolean;
  /** Control groups are not used: memory and processes are monitored. */
  readonly withoutGroups?: boolean;
}

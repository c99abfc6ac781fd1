// How processes of strangers can be fenced on this machine. Types only.

/** How code of strangers is fenced here; found out once, when the process starts. */
export interface Confinement {
  /**
   * `namespaces`: user, process and mount namespaces; `user`: a user of its own, where we are root; `none`: neither
   * works.
   */
  readonly kind: 'namespaces' | 'user' | 'none';
  /** Why it is no better, in words for the operator; null where there is nothing better. */
  readonly reason: string | null;
  /** First of the user ids that they get, one a slot, in namespaces too; absent or null: the platform's own user. */
  readonly firstUid?: number | null;
  /** Path of the program that makes `namespaces`: `bwrap`, or our own, which takes the same words. */
  readonly fence?: string;
  /** They may make user namespaces of their own: this bubblewrap is too old to forbid it (before 0.8). */
  readonly mayNest?: boolean;
  /** Path of the program that refuses them user namespaces; absent: the kernel supports no filter. */
  readonly filter?: string;
  /** In namespaces, they have the network of the machine, since none of their own can be created. */
  readonly sharesNetwork?: boolean;
  /** Control groups are not tried: memory and processes are watched. */
  readonly withoutGroups?: boolean;
}

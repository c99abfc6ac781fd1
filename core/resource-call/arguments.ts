// Arguments of operations on several kinds of bindings, for the other files of this folder.

/** Type for no arguments, or no result. */
export type Nothing = Readonly<Record<never, never>>;

/** A page of a list. */
export interface Page {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** One of many. */
export interface ById {
  readonly id: string;
}

// What operations on several kinds of bindings take, for the other files of this folder.

/** No arguments, or nothing to give. */
export type Nothing = Readonly<Record<never, never>>;

/** Which page of a list. */
export interface Page {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** One of many. */
export interface ById {
  readonly id: string;
}

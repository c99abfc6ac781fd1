// Search parameters of the page of a new project.

const sources = ['machine', 'git-host', 'remote'] as const;

/** Where the code of a new project comes from. */
export type Source = (typeof sources)[number];

export interface NewProjectSearch {
  /** Absent: the user's machine. */
  readonly from?: Source | undefined;
}

/** Drops what is not valid. */
export const newProjectSearch = ({ from }: Record<string, unknown>): NewProjectSearch =>
  sources.some((source) => source === from) ? { from: from as Source } : {};

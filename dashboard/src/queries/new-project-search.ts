// Search parameters of the page of a new project.

const sources = ['machine', 'git-host', 'remote'] as const;

/** Source of the code of a new project. */
export type Source = (typeof sources)[number];

export interface NewProjectSearch {
  /** Where the code of the project is; by default, on the user's machine. */
  readonly from?: Source | undefined;
}

/** Drops invalid values. */
export const newProjectSearch = ({ from }: Record<string, unknown>): NewProjectSearch =>
  sources.some((source) => source === from) ? { from: from as Source } : {};

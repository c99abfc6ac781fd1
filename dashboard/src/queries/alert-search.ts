// Search parameters of the pages of alerts.

export interface AlertSearch {
  /** ID of the open rule. */
  readonly rule?: string | undefined;
}

/** Drops invalid values. */
export const alertSearch = ({ rule }: Record<string, unknown>): AlertSearch =>
  typeof rule === 'string' && rule !== '' ? { rule } : {};

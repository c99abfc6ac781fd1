// Filters of the requests and logs of `platform dev`, as search parameters.

/** Filters of requests and logs. */
export interface DevSearch {
  /** `all`, a kind of event, or requests. */
  readonly kind?: string | undefined;
  readonly search?: string | undefined;
  readonly failed?: boolean | undefined;
  readonly level?: string | undefined;
  /** Number of the open request. */
  readonly request?: number | undefined;
}

/** Drops invalid values. */
export function devSearch(given: Record<string, unknown>): DevSearch {
  const { kind, search, failed, level, request } = given;
  return {
    ...(typeof kind === 'string' && kind !== '' && { kind }),
    ...((typeof search === 'string' || typeof search === 'number') && search !== '' && { search: String(search) }),
    ...(failed === true && { failed }),
    ...(typeof level === 'string' && level !== '' && { level }),
    ...(typeof request === 'number' && Number.isSafeInteger(request) && { request }),
  };
}

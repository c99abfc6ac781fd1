// Supported versions of the Model Context Protocol, as client and as server.

/** The stateless version. */
export const STATELESS = '2026-07-28';
/** Protocol versions that start with `initialize`, newest first. */
export const WITH_SESSION = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
/** Key prefix in `_meta`. */
export const META = 'io.modelcontextprotocol/';

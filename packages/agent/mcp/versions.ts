// The versions of the Model Context Protocol that are spoken, as client and as server.

/** Where each request stands for itself. */
export const STATELESS = '2026-07-28';
/** With `initialize`, the newest first. */
export const WITH_SESSION = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
/** What the keys of `_meta` begin with. */
export const META = 'io.modelcontextprotocol/';

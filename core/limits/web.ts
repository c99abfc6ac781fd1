// Limits of the process that serves the dashboard and the documentation. Part of core/limits.ts; not imported
// elsewhere.
import type { Bounds } from './bound.ts';

export const webBounds = {
  passedOnMax: ['WEB_PASSED_ON_MAX', 1024, "Concurrent requests that the dashboard's port forwards to the API"],
  answerMs: ['WEB_ANSWER_MS', 60_000, "Timeout for the start of the API's response to a forwarded request"],
} satisfies Bounds;

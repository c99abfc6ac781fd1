// Limits of the process that serves the dashboard and the documentation. Part of core/limits.ts; not imported
// elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const webLimits = {
  proxiedMax: [null, 1024, "Concurrent requests from the dashboard's port to the API"],
  answerMs: [null, 60_000, "Timeout for the start of the API's response to a request from the dashboard's port"],
} satisfies LimitDefinitions;

// Limits of the process that serves the dashboard and the documentation. Part of core/limits.ts; not imported
// elsewhere.
import type { LimitDefinitions } from './definition.ts';

export const webLimits = {
  proxiedMax: [null, 1024, "Requests that the dashboard's port passes on to the API at a time"],
  answerMs: [null, 60_000, 'How long the API may take to begin an answer to one of them'],
} satisfies LimitDefinitions;

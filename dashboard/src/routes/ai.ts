// Routes of the AI pages and their search parameters.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import type { AiSearch } from '../queries/ai.ts';
import { ranges } from '../queries/usage-search.ts';
import { projectRoute } from './root.ts';

/** Validates search parameters. */
export const aiSearch = ({ range, model, run, failed }: Record<string, unknown>): AiSearch => ({
  ...(typeof range === 'string' && Object.hasOwn(ranges, range) && { range: range as keyof typeof ranges }),
  ...(typeof model === 'string' && { model }),
  ...((typeof run === 'string' || typeof run === 'number') && { run: String(run) }),
  ...(failed === true && { failed }),
});

export const projectAiRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/ai',
  validateSearch: aiSearch,
  component: lazyRouteComponent(() => import('../pages/ai/project-ai.tsx'), 'ProjectAiPage'),
});

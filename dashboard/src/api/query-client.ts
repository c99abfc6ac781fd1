// Defaults of all queries: retries, stale time, and a refetch when the API is reachable again or another tab changed
// something.
import { MutationCache, QueryClient } from '@tanstack/react-query';
import { whenItReturns } from './connection.ts';
import { ApiFailure } from './failure.ts';

const RETRIES_MAX = 3;

/** Tells the other tabs of this browser that data has changed. */
const tabs = new BroadcastChannel('platform-changes');

export const queryClient = new QueryClient({
  mutationCache: new MutationCache({ onSuccess: () => tabs.postMessage(null) }),
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Queries ignore `navigator.onLine`, because the platform may run on this machine.
      networkMode: 'always',
      retry: (count, error) => count < RETRIES_MAX && error instanceof ApiFailure && error.isPassing,
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4000),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

whenItReturns(() => void queryClient.invalidateQueries());
tabs.onmessage = () => void queryClient.invalidateQueries();

// How queries behave everywhere: what is retried, for how long an answer stays good, and that all is read anew when the
// API is back.
import { QueryClient } from '@tanstack/react-query';
import { whenItReturns } from './connection.ts';
import { ApiFailure } from './failure.ts';

const RETRIES_MAX = 3;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Whether the platform answers is found out by asking it: it may be on this very machine.
      networkMode: 'always',
      retry: (count, error) => count < RETRIES_MAX && error instanceof ApiFailure && error.isPassing,
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4000),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

whenItReturns(() => void queryClient.invalidateQueries());

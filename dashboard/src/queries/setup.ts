// The first setup of the platform, for its operator.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

const readSetup = (signal: AbortSignal) => dataOf(api.get('/operator/setup', { signal }));

/** Steps of the setup with their state. */
export type Setup = Awaited<ReturnType<typeof readSetup>>;

export const setupQuery = queryOptions({ queryKey: ['setup'], queryFn: ({ signal }) => readSetup(signal) });

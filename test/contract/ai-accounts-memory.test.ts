// The accounts of the AI gateway in memory.
import { createMemoryAccounts } from '#gateway/accounts/memory.ts';
import { testAiAccounts } from './ai-accounts.ts';

testAiAccounts('memory', ({ now, limits }) =>
  Promise.resolve({ ...createMemoryAccounts({ now, limitsOf: () => limits }), close: () => Promise.resolve() }),
);

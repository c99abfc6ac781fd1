// Budgets at the gateway: calls at the same moment, streamed ones too, pass a limit by at most one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryAccounts } from '#gateway/accounts/memory.ts';
import { raceForBudget } from '#test/contract/ai-budget-race.ts';
import { chat, providerAt, startGateway } from '#test/setup/gateway.ts';
import { openModelProvider } from '#test/setup/model-provider.ts';

test('memory: 50 streamed calls at once, many given up, pass a quota by at most one, and are billed to the token', () =>
  raceForBudget((limits) => Promise.resolve(createMemoryAccounts({ now: Date.now, limitsOf: () => limits }))));

test('an answer without a number of tokens is held to what was reserved for it', async () => {
  const provider = await openModelProvider();
  const gateway = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    budget: [{ scope: 'deployment', of: 'tokens', per: 'month', most: 1_000_000 }],
    limits: { completionTokensDefault: 33 },
  });
  const response = await gateway.post('/chat/completions', chat('up/echo'));
  assert.equal(response.headers.get('x-ratelimit-limit-tokens'), '1000000');
  await gateway.post('/chat/completions', chat('up/echo', { max_completion_tokens: 5 }));
  assert.deepEqual(
    provider.asked.map(({ body }) => [body['max_tokens'], body['max_completion_tokens']]),
    [
      [33, undefined],
      [undefined, 5],
    ],
  );
  await gateway.close();
  await provider.close();
});

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

test('a call is refused when the budget is spent, by the price of the most expensive model it may use', async () => {
  const provider = await openModelProvider();
  const prices: Readonly<Record<string, number>> = { 'up/echo': 1_000_000, 'up/dear': 1_000_000_000 };
  const gateway = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    budget: [{ scope: 'project', of: 'cost', per: 'month', most: 5000 }],
    price: (model) => {
      const price = prices[model];
      return price === undefined ? null : { prompt: price, completion: price };
    },
  });
  const ask = async (model: string, more: object = {}): Promise<number> => {
    const response = await gateway.post('/chat/completions', chat(model, { max_tokens: 10, ...more }));
    await response.text();
    return response.status;
  };
  assert.equal(await ask('up/dear'), 200);
  assert.equal(await ask('up/echo'), 429);
  assert.equal(await ask('up/free'), 200);
  assert.equal(await ask('up/free', { models: ['up/echo'] }), 429);
  const refused = await gateway.post('/chat/completions', chat('up/echo'));
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'insufficient_quota');
  assert.match(error.message, /^cost per month of the project: 0\.\d+ of 0\.005 used$/);
  await gateway.close();
  await provider.close();
});

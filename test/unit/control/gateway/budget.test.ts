// Budgets at the gateway: calls at the same moment, streamed ones too, pass a limit by at most one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chat, framesOf, providerAt, startGateway } from '#test/setup/gateway.ts';
import { openModelProvider } from '#test/setup/model-provider.ts';
import { until } from '#test/setup/until.ts';

const CALLS = 50;
/** Of one call to the provider: 7 and 5. */
const TOKENS_A_CALL = 12;

test('50 streamed calls at once on a small quota: the provider counts at most one call more than it allows', async () => {
  const provider = await openModelProvider();
  const most = 100;
  const gateway = await startGateway({
    table: { providers: [providerAt(provider.url)] },
    budget: [{ scope: 'organization', of: 'tokens', per: 'day', most }],
  });
  const ask = async (): Promise<Response> => {
    const body = chat('up/echo', { stream: true, max_tokens: 12 });
    const response = await gateway.post('/chat/completions', body);
    await framesOf(response.clone());
    return response;
  };
  // Waves, until all is used: room that is reserved and not used comes back.
  const statuses: number[] = [];
  let last: Response;
  do {
    const wave = await Promise.all(Array.from({ length: CALLS }, ask));
    statuses.push(...wave.map(({ status }) => status));
    last = wave.at(-1)!;
  } while (
    (
      (await last
        .clone()
        .json()
        .catch(() => ({}))) as { error?: { code: string } }
    ).error?.code !== 'insufficient_quota'
  );
  const told = provider.asked.length * TOKENS_A_CALL;
  assert.ok(told >= most && told <= most + TOKENS_A_CALL, `${told} of ${most}`);
  assert.equal(statuses.filter((status) => status === 200).length, provider.asked.length);
  assert.equal(last.headers.get('x-should-retry'), 'false');
  const rows = await until(async () => {
    const kept = await gateway.rows();
    return kept.length === provider.asked.length && kept;
  });
  assert.equal(
    rows.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0),
    told,
  );
  await gateway.close();
  await provider.close();
});

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

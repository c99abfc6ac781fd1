// Must hold over every form of the accounts: 50 streamed calls at a time on a small quota, many of them given up by
// their clients, pass it by at most one call, and the rows of usage are what the provider counted, call by call.
import assert from 'node:assert/strict';
import type { Accounts, Limit } from '#gateway/accounts/accounts.ts';
import { chat, providerAt, startGateway, type TestGateway } from '#test/setup/gateway.ts';
import { chunkOf } from '#test/setup/model-provider.ts';
import { openProviderServer, openStream, type ModelProvider } from '#test/setup/provider-server.ts';
import { until } from '#test/setup/until.ts';

const CALLS = 50;
const QUOTA = 600;
/** What the gateway estimates of the prompt too: of the rest the provider tells in every chunk. */
const PROMPT = 7;
const ANSWER = 12;
/** One token of the provider. */
const WORD = 'word ';

interface Counted {
  readonly prompt: number;
  completion: number;
}

/** Counts each token that it sends, and says so in its chunk. `stays/<n>` says no more behind n tokens. */
async function openCountingProvider(): Promise<{ readonly provider: ModelProvider; readonly ledger: Counted[] }> {
  const ledger: Counted[] = [];
  const provider = await openProviderServer(
    'v1',
    ({ body }) => String(body['model']),
    (response, { body }) => {
      const counted: Counted = { prompt: PROMPT, completion: 0 };
      ledger.push(counted);
      const [kind, most] = String(body['model']).split('/');
      if (kind === 'silent') return;
      openStream(response);
      const send = (delta: object, finish: string | null): void => {
        const usage = {
          prompt_tokens: counted.prompt,
          completion_tokens: counted.completion,
          total_tokens: counted.prompt + counted.completion,
        };
        response.write(`data: ${chunkOf(delta, finish, { usage })}\n\n`);
      };
      while (counted.completion < Number(most)) {
        counted.completion += 1;
        send({ content: WORD }, null);
      }
      if (kind === 'stays') return;
      send({}, 'stop');
      response.end('data: [DONE]\n\n');
    },
  );
  return { provider, ledger };
}

/** @returns the status, and the code of a refusal. */
async function ask(gateway: TestGateway, provider: ModelProvider, nth: number): Promise<[number, string]> {
  const given = 1 + (nth % ANSWER);
  const isSilent = nth % 10 === 0;
  const model = isSilent ? `silent/${nth}` : nth % 2 === 0 ? `whole/${given}` : `stays/${given}`;
  const body = chat(`up/${model}`, { stream: true, max_tokens: ANSWER });
  const gone = new AbortController();
  const asking = gateway.post('/chat/completions', body, {}, gone.signal);
  if (isSilent) {
    let isAnswered = false;
    void asking.then(
      () => (isAnswered = true),
      () => {},
    );
    await until(() => isAnswered || provider.asked.some((asked) => asked.body['model'] === model));
    if (!isAnswered) {
      gone.abort();
      await assert.rejects(asking);
      return [499, ''];
    }
  }
  const response = await asking;
  if (response.status !== 200)
    return [response.status, ((await response.json()) as { error: { code: string } }).error.code];
  let text = '';
  try {
    for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
      text += bytes;
      if (model.startsWith('stays') && text.split(WORD).length > given) gone.abort();
    }
  } catch (error) {
    assert.equal((error as Error).name, 'AbortError');
    return [499, ''];
  }
  assert.match(text, /\[DONE\]/);
  return [200, ''];
}

export async function raceForBudget(open: (limits: readonly Limit[]) => Promise<Accounts>): Promise<void> {
  const { provider, ledger } = await openCountingProvider();
  const budget: Limit[] = [{ scope: 'organization', of: 'tokens', per: 'month', most: QUOTA }];
  const accounts = await open(budget);
  const gateway = await startGateway({ accounts, table: { providers: [providerAt(provider.url)] } });
  try {
    const statuses: number[] = [];
    let codes: string[];
    do {
      const wave = await Promise.all(
        Array.from({ length: CALLS }, (_, nth) => ask(gateway, provider, statuses.length + nth)),
      );
      statuses.push(...wave.map(([status]) => status));
      codes = wave.map(([, code]) => code);
    } while (!codes.includes('insufficient_quota'));
    await Promise.all(provider.asked.map(({ closed }) => closed));
    const rows = await until(async () => {
      await accounts.usage.flush();
      const kept = await accounts.usage.rowsOf('acme', 1000);
      return kept.length === ledger.length && kept;
    });
    const sorted = (pairs: readonly (readonly [number, number])[]): unknown =>
      pairs.map(([prompt, completion]) => prompt * 1000 + completion).toSorted((a, b) => a - b);
    assert.deepEqual(
      sorted(rows.map((row) => [row.promptTokens, row.completionTokens])),
      sorted(ledger.map(({ prompt, completion }) => [prompt, completion])),
    );
    const used = ledger.reduce((sum, { prompt, completion }) => sum + prompt + completion, 0);
    assert.ok(used >= QUOTA && used <= QUOTA + PROMPT + ANSWER, `${used} of ${QUOTA}`);
    const gone = rows.filter(({ status }) => status === 499);
    assert.ok(gone.length > 5 && rows.some(({ status }) => status === 200));
    assert.equal(statuses.filter((status) => status === 200 || status === 499).length, ledger.length);
    // Only those that were given up before the first chunk.
    for (const row of rows) assert.equal(row.isEstimated, row.modelRequested.startsWith('up/silent/'));
  } finally {
    await gateway.close();
    await provider.close();
  }
}

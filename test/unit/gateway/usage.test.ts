// GET /usage: whose usage, of when, and by what.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chat, startGateway, testCaller, type TestGateway } from '#test/setup/gateway.ts';

const NOON = Date.UTC(2026, 0, 31, 12);
let gateway: TestGateway;
before(async () => {
  gateway = await startGateway({ now: () => NOON, price: () => ({ prompt: 1_000_000, completion: 0 }) });
});
after(() => gateway.close());

interface Answer {
  readonly total: Readonly<Record<string, number>>;
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly from: string;
  readonly to: string;
  readonly error?: { readonly param: string; readonly code: string };
}
async function ask(question: string, caller = testCaller): Promise<Answer> {
  const response = await gateway.gateway.fetch(new Request(`http://gateway.test/ai/usage${question}`), caller);
  return (await response.json()) as Answer;
}

test('a deployment reads its own usage, a key that of its organization, by what is asked', async () => {
  const key = { ...testCaller, kind: 'key', projectId: null, deploymentId: null, branch: null } as const;
  const sibling = { ...testCaller, deploymentId: 'd000000000002' };
  await gateway.post('/chat/completions', chat('mock/echo'));
  await gateway.post('/chat/completions', chat('mock/tools', { stream: true })).then((response) => response.text());
  await gateway.post('/chat/completions', chat('mock/none'));
  const body = JSON.stringify(chat('mock/echo'));
  const request = new Request('http://gateway.test/ai/chat/completions', { method: 'POST', body });
  await gateway.gateway.fetch(request, sibling);
  const own = await ask('?group_by=model');
  const rows = await gateway.rows();
  const mine = rows.filter(({ caller }) => caller.deploymentId === testCaller.deploymentId);
  assert.equal(mine.length, 3);
  const sum = (of: 'promptTokens' | 'completionTokens'): number => mine.reduce((all, row) => all + row[of], 0);
  assert.deepEqual(own.total, {
    calls: 3,
    failed_calls: 1,
    prompt_tokens: sum('promptTokens'),
    completion_tokens: sum('completionTokens'),
    total_tokens: sum('promptTokens') + sum('completionTokens'),
    cached_tokens: 0,
    reasoning_tokens: 0,
    cost_micros: sum('promptTokens'),
    unpriced_calls: 0,
  });
  assert.deepEqual(own.data.map(({ model }) => model).toSorted(), ['mock/echo', 'mock/tools', null].toSorted());
  const all = await ask('?group_by=deployment', key);
  assert.deepEqual(
    all.data.map(({ deployment, calls }) => [deployment, calls]),
    [
      ['d000000000001', 3],
      ['d000000000002', 1],
    ],
  );
  assert.equal((await ask('', { ...testCaller, organizationId: 'other' })).total['calls'], 0);
  assert.deepEqual(
    (await ask('?from=2026-01-31&to=2026-02-01')).data.map(({ day, calls }) => [day, calls]),
    [['2026-01-31', 3]],
  );
  assert.equal((await ask('?from=2026-01-30&to=2026-01-31T12:00:00Z')).total['calls'], 0);
  assert.deepEqual((await ask('')).from, '2026-01-01T12:00:00.001Z');
});

test('a question that is wrong is told where', async () => {
  for (const [question, param] of [
    ['?from=yesterday', 'from'],
    ['?to=2026-13-01', 'to'],
    ['?from=2026-01-02&to=2026-01-01', 'from'],
    ['?from=2020-01-01', 'from'],
    ['?group_by=prompt', 'group_by'],
  ] as const)
    assert.equal((await ask(question)).error?.param, param);
});

test('an organization is answered one question at a time', async () => {
  const answers = await Promise.all([ask(''), ask(''), ask('', { ...testCaller, organizationId: 'other' })]);
  assert.deepEqual(
    answers.map(({ error }) => error?.code),
    [undefined, 'rate_limit_exceeded', undefined],
  );
});

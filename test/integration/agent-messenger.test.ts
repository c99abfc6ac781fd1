// The messenger that comes with a message: it gets what the run says, though the run is another invocation in another
// isolate. In `platform dev`, on real bindings.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { agentTools } from '#test/setup/agent-tools.ts';
import { startAgent, type TestAgent } from '#test/setup/agent.ts';
import { until } from '#test/setup/until.ts';
import type { TestResponse } from '#test/setup/handler.ts';

let agent: TestAgent;

before(async () => {
  agent = await startAgent(`${agentTools} streaming: { enabled: true, throttleMs: 0 },`);
});
after(() => agent.close());

/** Sends a message to `/say-with`, which hands a messenger on. */
function say(path: string, userId: string, more: object = {}): Promise<TestResponse> {
  const body = { userId, chatId: userId, platform: 'live', text: 'go', ...more };
  return agent.dev.fetch(path, { method: 'POST', body: JSON.stringify(body) });
}

/** What came of a user, with the messenger that sent it. */
const sent = (userId: string): (readonly [string | undefined, string])[] =>
  agent.posted(userId).map(({ to, text }) => [to, text]);

test('eight of eight replies go through the messenger that came with the message', async () => {
  const users = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `user-${n}`);
  for (const user of users) agent.script(user, () => `hello ${user}`);
  const answers = await Promise.all(users.map((user) => say('/say-with', user)));
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  await agent.came(() => users.every((user) => agent.posted(user).length > 0));
  assert.deepEqual(
    users.map((user) => sent(user)),
    users.map((user) => [['given', `hello ${user}`]]),
  );
});

test('an answer streams typing, partial answers, a document and the reply', async () => {
  agent.script('ada', (_request, count) =>
    count === 0
      ? { calls: [['artifact_create', { filename: 'a.bin', content: 'AAEC', encoding: 'base64' }]] }
      : 'one two',
  );
  const { status, text } = await say('/ask', 'ada');
  assert.equal(status, 200);
  const lines = text.trim().split('\n');
  const said = lines.map((line) => JSON.parse(line) as [string, ...unknown[]]);
  assert.deepEqual(
    said.filter(([kind]) => kind !== 'partial'),
    [['typing'], ['document', 'a.bin', [0, 1, 2]], ['typing'], ['message', 'one two']],
  );
  const partials = said.filter(([kind]) => kind === 'partial') as [string, string, string, boolean][];
  assert.equal(partials.map(([, delta]) => delta).join(''), 'one two');
  assert.deepEqual(partials.at(-1)!.slice(2), ['one two', true]);
});

test('it comes before the registered one, and each message that waits has its own', async () => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  agent.script('both', async ({ messages }) => {
    await opened;
    return `to ${messages.at(-1)!.content}`;
  });
  await say('/say-with', 'both', { platform: 'test', text: 'one' });
  await say('/say', 'both', { platform: 'test', text: 'two' });
  await say('/say-with', 'both', { platform: 'test', text: 'three' });
  open();
  await agent.came(() => agent.posted('both').length === 3);
  assert.deepEqual(sent('both'), [
    ['given', 'to one'],
    ['registered', 'to two'],
    ['given', 'to three'],
  ]);
});

test('what it throws is tried again', async () => {
  agent.script('away', () => 'after all');
  await say('/say-with', 'away', { fails: true });
  await agent.came(() => agent.posted('away').length === 1);
  assert.deepEqual(sent('away'), [['given', 'after all']]);
});

test('a failure is told through it, and nothing of it is left in the state', async () => {
  agent.script('broken', () => ({ status: 400 }));
  await say('/say-with', 'broken');
  await agent.came(() => agent.posted('broken').length === 1);
  assert.deepEqual(sent('broken'), [['given', 'Something went wrong. Please try again.']]);
  // The run takes its relay with it, right after its workspace is free.
  await until(async () => (await agent.dev.fetch('/relays', { method: 'POST', body: '{}' })).text === '[]');
});

test('a reply that nobody could be given, as of a scheduled task, is an error in the log', async () => {
  agent.script('later', (_request, count) =>
    count === 0 ? { calls: [['schedule_task', { description: 'tea', delaySeconds: 0 }]] } : `answer ${count}`,
  );
  await say('/say-with', 'later');
  const [told] = await agent.dev.printed(/error A message of the agent was not sent[^\n]*/);
  assert.equal(
    told,
    'error A message of the agent was not sent: the agent has no messenger for the platform "live"; write messengers: { live: (env, chatId) => ({ sendMessage, sendDocument, sendTypingIndicator }) } into createAgent',
  );
  await agent.idle('later');
  assert.deepEqual(
    agent.posted('later').map(({ to }) => to),
    ['given'],
  );
});

test('a message that no messenger could answer is refused, with what to write', async () => {
  const without = await say('/say', 'nobody');
  assert.equal(without.status, 500);
  assert.equal(
    (without.json() as { message: string }).message,
    'No answer could reach the platform "live": give handleMessage a messenger, or write messengers: { live: (env, chatId) => ({ sendMessage, sendDocument, sendTypingIndicator }) } into createAgent',
  );
  const wrong = await say('/say-wrong', 'nobody');
  assert.equal((wrong.json() as { message: string }).message, 'messenger needs the function sendDocument');
  assert.equal(await agent.workspace('nobody'), null);
});

// Scheduled tasks of an agent in `platform dev`, on real timers: they fire once each, and go on until they are deleted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { agentTools } from '#test/setup/agent-tools.ts';
import { startAgent, type TestAgent } from '#test/setup/agent.ts';

let agent: TestAgent;
before(async () => {
  agent = await startAgent(agentTools);
});
after(() => agent.close());

const texts = (userId: string, kind?: 'message' | 'effect' | 'hook' | 'document'): string[] =>
  agent.posted(userId, kind).map(({ text }) => text);

test('a scheduled task fires once, as a message, and is gone then', async () => {
  agent.script('later', ({ messages }, count) => {
    if (count === 0)
      return {
        calls: [
          ['schedule_task', { description: 'water the plants', delaySeconds: 0 }],
          ['schedule_task', { description: 'x', runAt: '2001-01-01T00:00:00Z' }],
          ['schedule_task', { description: 'x', recurring: true }],
        ],
      };
    return `about ${messages.at(-1)!.content}`;
  });
  await agent.say('later', 'remind me');
  await agent.came(() => texts('later').some((text) => text.includes('[Scheduled task]: water the plants')));
  const workspace = await agent.idle('later');
  assert.deepEqual(workspace.scheduledTasks, []);
  assert.equal(workspace.messages.filter(({ content }) => content === '[Scheduled task]: water the plants').length, 1);
  const results = workspace.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  assert.deepEqual(results.slice(1), [
    'Error: runAt is in the past',
    'Error: A recurring task needs intervalSeconds or cron',
  ]);
  assert.equal(texts('later', 'hook')[0], '["onTaskScheduled","water the plants"]');
});

test('a cron task fires again and again until it is deleted', async () => {
  const at = Date.now();
  agent.script('cron', ({ messages }, count) => {
    const last = messages.at(-1)!;
    if (count === 0)
      return {
        calls: [
          ['schedule_task', { description: 'tick', cron: '* * * * * *', timezone: 'Europe/Zurich' }],
          ['schedule_task', { description: 'x', cron: 'every day' }],
          ['schedule_task', { description: 'hourly', cron: '0 * * * *' }],
        ],
      };
    const ticks = messages.filter(({ content }) => content === '[Scheduled task]: tick').length;
    if (ticks === 2 && last.role === 'user') {
      const [first] = messages.filter(({ role }) => role === 'tool');
      return { calls: [['delete_scheduled_task', { taskId: (JSON.parse(first!.content!) as { id: string }).id }]] };
    }
    return `tick ${ticks}`;
  });
  await agent.say('cron', 'go');
  await agent.came(() => texts('cron').includes('tick 2'));
  const { messages, scheduledTasks } = await agent.idle('cron');
  assert.ok(Date.now() - at >= 1000, 'two ticks are a second apart');
  const [, refused, hourly] = messages.filter(({ role }) => role === 'tool').map(({ content }) => content!);
  assert.match(refused!, /^Error: .*cron/);
  assert.equal((JSON.parse(hourly!) as { recurring: boolean }).recurring, true);
  assert.deepEqual(
    scheduledTasks.map(({ description, cron }) => [description, cron]),
    [['hourly', '0 * * * *']],
  );
});

test('a cron task says when it runs next, under the name that the other tools take, and so does an updated one', async () => {
  const yearly = { description: 'new year', cron: '30 12 1 1 *', timezone: 'America/New_York' };
  agent.script('yearly', ({ messages }, count) => {
    if (count === 0) return { calls: [['schedule_task', yearly]] };
    if (count > 1) return 'ok';
    const { taskId } = JSON.parse(messages.at(-1)!.content!) as { taskId: string };
    return {
      calls: [
        ['get_scheduled_task', { taskId }],
        ['list_scheduled_tasks', {}],
        ['update_scheduled_task', { taskId, cron: '30 12 1 7 *' }],
      ],
    };
  });
  await agent.say('yearly', 'go');
  const { scheduledTasks } = await agent.idle('yearly');
  const results = agent.requests('yearly')[2]!.messages.filter(({ role }) => role === 'tool');
  const [made, got, listed, changed] = results.map(({ content }) => JSON.parse(content!) as Record<string, unknown>);
  // Noon and a half in New York: winter time, then summer time.
  assert.match(String(made!['nextRun']), /^\d{4}-01-01T17:30:00\.000Z$/);
  assert.equal(new Date(made!['scheduledTime'] as number).toISOString(), made!['nextRun']);
  assert.equal(made!['taskId'], made!['id']);
  assert.deepEqual(got, made);
  assert.deepEqual(listed, [made]);
  assert.match(String(changed!['nextRun']), /^\d{4}-07-01T16:30:00\.000Z$/);
  assert.deepEqual(
    scheduledTasks.map(({ scheduledTime }) => scheduledTime),
    [changed!['scheduledTime']],
  );
  assert.equal(texts('yearly', 'hook')[0], '["onTaskScheduled","new year"]');
});

test('a timer that is delivered twice starts one run, of a recurring task and of a one-time task', async () => {
  agent.script('again', (_request, count) =>
    count === 0
      ? {
          calls: [
            ['schedule_task', { description: 'weekly', delaySeconds: 604_800, intervalSeconds: 604_800 }],
            ['schedule_task', { description: 'once', delaySeconds: 604_800 }],
          ],
        }
      : 'ok',
  );
  await agent.say('again', 'go');
  const { scheduledTasks } = await agent.idle('again');
  const at = Date.now() - 1000;
  for (const { id, description } of scheduledTasks) {
    const payload = { userId: 'again', chatId: 'again', platform: 'test', description };
    const timer = { id: `agent:"again":${id}`, at, payload };
    for (const round of [1, 2]) {
      await agent.dev.fetch('/timer', { method: 'POST', body: JSON.stringify(timer) });
      await agent.came(() => agent.posted('again', 'timer').filter(({ text }) => text === timer.id).length === round);
      const said = (await agent.idle('again')).messages.filter(({ content }) => content?.endsWith(`: ${description}`));
      assert.equal(said.length, 1, `${description}, delivery ${round}`);
    }
  }
  const { scheduledTasks: left } = await agent.idle('again');
  assert.deepEqual(
    left.map(({ description }) => description),
    ['weekly'],
  );
});

test('a scheduled task can be read, changed and deleted', async () => {
  let id = '';
  agent.script('plans', ({ messages }, count) => {
    if (count === 0) return { calls: [['schedule_task', { description: 'one', delaySeconds: 3600 }]] };
    if (count === 1) {
      id = (JSON.parse(messages.at(-1)!.content!) as { id: string }).id;
      return {
        calls: [
          ['update_scheduled_task', { taskId: id, description: 'two', intervalSeconds: 60 }],
          ['get_scheduled_task', { taskId: id }],
          ['list_scheduled_tasks', {}],
          ['delete_scheduled_task', { taskId: id }],
          ['get_scheduled_task', { taskId: id }],
        ],
      };
    }
    return 'ok';
  });
  await agent.say('plans', 'go');
  await agent.idle('plans');
  const [, , got, listed, deleted, gone] = agent
    .requests('plans')[2]!
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content!);
  const task = JSON.parse(got!) as Record<string, unknown>;
  assert.deepEqual([task['id'], task['description'], task['recurring'], task['intervalMs']], [id, 'two', true, 60_000]);
  assert.deepEqual(JSON.parse(listed!), [task]);
  assert.deepEqual([deleted, gone], [`Deleted task "${id}".`, `Task "${id}" not found.`]);
});

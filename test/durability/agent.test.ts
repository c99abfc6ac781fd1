// An agent whose engine is killed with kill -9 in a tool, while the model streams, between steps, while the answer is
// sent, and while a scheduled task runs: every tool has its effect once, every message one answer, in the order they
// came. AGENT_KILL_ROUNDS asks for other rounds than one of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ModelReply } from '#test/setup/fake-model.ts';
import { startKilledAgent, type KilledAgent } from '#test/setup/agent-kills.ts';
import { until } from '#test/setup/until.ts';

const moments = ['tool', 'stream', 'between steps', 'reply', 'scheduled task'] as const;
const rounds = Number(process.env['AGENT_KILL_ROUNDS'] ?? moments.length);
/** How long after a tool's effect the kill between steps comes: another one each time. */
const BETWEEN_MS = [0, 4, 8, 16];
const config = `
  streaming: { enabled: true, throttleMs: 0 },
  tools: [
    { name: 'work', description: 'Works', parameters: { type: 'object' }, execute: async ({ n }, ctx) => { await effect(ctx.chatId, 'work ' + n, ctx.idempotencyKey); return 'worked ' + n; } },
  ],
`;

/** What came with a key, once for each key: as a receiver that looks at keys takes it. */
function once(posted: ReturnType<KilledAgent['posted']>): string[] {
  return [...new Map(posted.map(({ key, text }) => [key, text])).values()];
}

/** The model of a round: two tools and a reminder first, then an answer to each message. */
function model(
  moment: string,
): (request: { messages: readonly { role: string; content: string | null }[] }) => ModelReply {
  let cuts = 0;
  return ({ messages }) => {
    const { role, content } = messages.at(-1)!;
    const asked = messages.findLast((message) => message.role === 'user')!.content!;
    const cut = moment === 'stream' ? role === 'tool' : moment === 'scheduled task' && asked.endsWith(': remind');
    if (cut && cuts++ === 0) return { begin: 'half an ' };
    if (role !== 'user' || content !== 'go') return `answer to ${asked}`;
    return {
      calls: [
        ['work', { n: 1 }],
        ['schedule_task', { description: 'remind', delaySeconds: 0.5 }],
        ['work', { n: 2 }],
      ],
    };
  };
}

test(
  `an agent answers once, in order, with each effect once, in ${rounds} rounds of kill -9`,
  { timeout: 60_000 + rounds * 30_000 },
  async (t) => {
    const agent = await startKilledAgent(config);
    t.after(() => agent.close());
    let again = 0;
    for (let round = 0; round < rounds; round++) {
      const user = `user-${round}`;
      const moment = moments[round % moments.length]!;
      const { posted } = agent;
      agent.script(user, model(moment));
      if (moment === 'tool') agent.hold('work 2');
      if (moment === 'reply') agent.hold('answer to go');
      const partials = (): string =>
        posted(user, 'partial')
          .map(({ text }) => text)
          .join();
      const isThen = {
        tool: () => posted(user, 'effect').some(({ text }) => text === 'work 2'),
        stream: () => partials().includes('half an '),
        'between steps': () => posted(user, 'effect').some(({ text }) => text === 'work 1'),
        reply: () => posted(user).some(({ text }) => text === 'answer to go'),
        'scheduled task': () =>
          agent.requests(user).some(({ messages }) => messages.at(-1)!.content?.endsWith(': remind')),
      }[moment];
      await agent.say(user, 'go');
      await agent.say(user, 'second');
      await agent.say(user, 'third');
      await agent.came(isThen);
      if (moment === 'between steps') await pause(BETWEEN_MS[Math.floor(round / moments.length) % BETWEEN_MS.length]);
      await agent.kill();
      const answers = (): string[] => once(posted(user)).filter((text) => text.startsWith('answer to '));
      await agent.came(() => answers().length === 4);
      const workspace = await until(async () => {
        const found = await agent.workspace(user);
        return found?.activeRunId === null && found.queue.length === 0 && found;
      });
      const reminder = '[Scheduled task]: remind';
      // When the reminder comes is its own affair: what was sent keeps its order around it.
      const sent = ['go', 'second', 'third'];
      const order = answers().map((text) => text.slice('answer to '.length));
      assert.deepEqual(
        order.filter((text) => text !== reminder),
        sent,
        moment,
      );
      assert.deepEqual(
        order.filter((text) => text === reminder),
        [reminder],
        moment,
      );
      const history = workspace.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
      assert.deepEqual(history, order, moment);
      const said = workspace.messages.filter((message) => message.role === 'assistant' && !message.tool_calls);
      assert.deepEqual(
        said.map(({ content }) => content),
        order.map((text) => `answer to ${text}`),
        moment,
      );
      const effects = posted(user, 'effect');
      assert.deepEqual(once(effects), ['work 1', 'work 2'], moment);
      const results = workspace.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
      assert.deepEqual([results.length, results[0], results[2]], [3, 'worked 1', 'worked 2'], moment);
      assert.deepEqual(workspace.scheduledTasks, [], moment);
      again += effects.length - 2 + (posted(user).length - 4);
      t.diagnostic(`round ${round + 1} of ${rounds}: ${moment}, ${agent.requests(user).length} requests of the model`);
    }
    assert.equal(agent.kills, rounds);
    t.diagnostic(`${agent.kills} kills; ${again} calls and messages came again, each with the same key`);
  },
);

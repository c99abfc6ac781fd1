// packages/agent in `platform dev`, on real bindings: messages, queues, tools, memory, commands. The model
// is a server of the test.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
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

/** A promise with its way out. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('the health check is answered, and all else goes to handle', async () => {
  const health = await agent.dev.fetch('/health');
  assert.equal(health.status, 200, agent.dev.output);
  assert.deepEqual(health.json(), { status: 'ok', agent: true, model: 'auto', tools: 15 });
  assert.equal((await agent.dev.fetch('/health', { method: 'POST', body: '{}' })).status, 404);
});

test('a message is answered, and the workspace is idle afterwards', async () => {
  agent.script('ada', () => 'hello ada');
  const { runId, queued } = await agent.say('ada', 'hi');
  assert.equal(queued, false);
  const workspace = await agent.idle('ada');
  assert.deepEqual(
    workspace.messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'hi'],
      ['assistant', 'hello ada'],
    ],
  );
  assert.deepEqual(
    agent.posted('ada').map(({ text, key }) => [text, key]),
    [['hello ada', `${runId}:final`]],
  );
  assert.deepEqual(texts('ada', 'hook'), ['["onRunComplete","hello ada","reply"]']);
  const [asked] = agent.requests('ada');
  assert.deepEqual([asked!.model, asked!.messages[0]!.role], ['auto', 'system']);
});

test('messages of the same instant are answered one after the other, each once', async () => {
  const held = gate();
  agent.script('twins', async ({ messages }) => {
    await held.opened;
    return `to ${messages.at(-1)!.content}`;
  });
  const handles = await Promise.all(['a', 'b', 'c', 'd'].map((text) => agent.say('twins', text)));
  assert.equal(handles.filter(({ queued }) => !queued).length, 1);
  assert.equal(new Set(handles.map(({ runId }) => runId)).size, 1);
  const { messages, queue } = (await agent.workspace('twins'))!;
  assert.deepEqual([messages.length, queue.length], [1, 3]);
  const order = [messages[0]!.content, ...queue.map(({ text }) => text)];
  held.open();
  await agent.came(() => agent.posted('twins').length === 4);
  const workspace = await agent.idle('twins');
  assert.deepEqual(
    texts('twins'),
    order.map((text) => `to ${text}`),
  );
  assert.deepEqual(
    workspace.messages.map(({ content }) => content),
    order.flatMap((text) => [text, `to ${text}`]),
  );
});

test('tools run, and what is wrong with a call is told to the model', async () => {
  agent.script('tools', (_request, count) => {
    if (count === 0)
      return {
        calls: [
          ['add', { a: 2, b: 3 }],
          ['add', { a: 2, b: 'x' }],
          ['add', '{"a": 2,'],
          ['nothing', {}],
          ['fails', {}],
          ['huge', {}],
          ['hangs', {}],
        ],
      };
    return 'done';
  });
  const { runId } = await agent.say('tools', 'go');
  await agent.idle('tools');
  const results = agent.requests('tools')[1]!.messages.filter(({ role }) => role === 'tool');
  const [sum, invalid, broken, unknown, thrown, huge, hung] = results.map(({ content }) => content!);
  assert.equal(sum, '5');
  assert.equal(invalid, 'Error: Invalid arguments: b is not an integer');
  assert.equal(broken, 'Error: Invalid arguments: not JSON');
  assert.equal(unknown, 'Error: There is no tool "nothing"');
  assert.equal(thrown, 'Error: no such thing');
  assert.ok(huge!.length < 66_000 && huge!.endsWith('[The result has 10000000 characters; the rest was left out]'));
  assert.match(hung!, /^Error: Step "tools_1#7" did not end within 50 ms$/);
  assert.deepEqual(
    agent.posted('tools', 'effect').map(({ key }) => key),
    [`${runId}:1:0`],
  );
  assert.deepEqual(texts('tools'), ['done']);
});

test('a loop that reaches maxSteps stops with a reply', async () => {
  agent.script('loop', () => ({ calls: [['add', { a: 1, b: 1 }]] }));
  await agent.say('loop', 'go');
  const { messages } = await agent.idle('loop');
  assert.equal(agent.requests('loop').length, 4);
  assert.deepEqual(texts('loop'), ['I reached the maximum number of steps (4) and stopped.']);
  assert.equal(texts('loop', 'effect').length, 3);
  assert.deepEqual(
    messages.map(({ role }) => role).join(),
    'user,assistant,tool,assistant,tool,assistant,tool,assistant',
  );
  assert.match(texts('loop', 'hook')[0]!, /"max_steps"\]$/);
});

test('a run that fails says so, frees the workspace, and the next message is taken', async () => {
  const held = gate();
  agent.script('broken', async (_request, count) => {
    await held.opened;
    return count === 0 ? { status: 400 } : 'better';
  });
  await agent.say('broken', 'one');
  await agent.say('broken', 'two');
  held.open();
  await agent.came(() => agent.posted('broken').length === 2);
  await agent.idle('broken');
  assert.deepEqual(texts('broken'), ['Something went wrong. Please try again.', 'better']);
  assert.equal(texts('broken', 'hook')[0], '["onRunError","status 400"]');
});

test('a run that fails is an error in the log of the project, with its cause and without secrets', async () => {
  agent.script('logged', (_request, count) =>
    count === 0
      ? { calls: [['memory_set', { key: 'door', value: 'hunter2', secret: true }]] }
      : { status: 400, message: 'no such model for hunter2' },
  );
  const { runId } = await agent.say('logged', 'go');
  const [told] = await agent.dev.printed(new RegExp(`error [^\n]*run ${runId}[^\n]*\n[^\n]*`));
  assert.match(told, new RegExp(`The agent's run ${runId} failed: \\w*Error: no such model for \\[SECRET:door\\]`));
  await agent.idle('logged');
  assert.equal(agent.dev.output.includes('hunter2'), false);
});

test('a hook and a reply that fail for good are errors in the log', async () => {
  await agent.say('unheard', 'fail the hook');
  await agent.idle('unheard');
  await agent.dev.printed(
    /error [^\n]*hook_onRunComplete of the agent's run \S+ failed: NonRetryableError: the hook is broken/,
  );
});

test('a status that may pass is tried again', async () => {
  agent.script('busy', (_request, count) => (count === 0 ? { status: 503 } : 'after all'));
  await agent.say('busy', 'go');
  await agent.idle('busy');
  assert.deepEqual(texts('busy'), ['after all']);
});

test('a reset during a run leaves nothing behind', async () => {
  const held = gate();
  agent.script('gone', async () => {
    await held.opened;
    return 'too late';
  });
  await agent.say('gone', 'go');
  await agent.came(() => agent.requests('gone').length === 1);
  assert.match(await agent.command('reset', 'gone', 'gone'), /deleted/);
  agent.script('gone', () => 'fresh');
  await agent.say('gone', 'again');
  held.open();
  await agent.came(() => agent.posted('gone').length > 0);
  const { messages } = await agent.idle('gone');
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['again', 'fresh'],
  );
  assert.deepEqual(texts('gone'), ['fresh']);
});

test('a run that is cancelled gives way to the next message', async () => {
  const held = gate();
  agent.script('stop', async (_request, count) => {
    if (count === 0) await held.opened;
    return `answer ${count}`;
  });
  assert.equal(await agent.command('cancel', 'stop', 'stop'), 'Nothing is running.');
  await agent.say('stop', 'one');
  await agent.came(() => agent.requests('stop').length === 1);
  await agent.say('stop', 'two');
  assert.equal(await agent.command('cancel', 'stop', 'stop'), 'Run cancelled.');
  await agent.idle('stop');
  held.open();
  assert.deepEqual(texts('stop'), ['answer 1']);
});

test('a run that an operator ended holds up no message', async () => {
  const held = gate();
  agent.script('operator', async (_request, count) => {
    if (count === 0) await held.opened;
    return `answer ${count}`;
  });
  const { runId } = await agent.say('operator', 'one');
  await agent.came(() => agent.requests('operator').length === 1);
  await agent.dev.fetch('/cancel-run', { method: 'POST', body: JSON.stringify({ runId }) });
  assert.equal((await agent.say('operator', 'two')).queued, false);
  await agent.idle('operator');
  held.open();
  assert.deepEqual(texts('operator'), ['Something went wrong. Please try again.', 'answer 1']);
});

test('a run that an operator ended is noticed without a next message, and those that wait are answered', async () => {
  const held = gate();
  agent.script('watched', async (_request, count) => {
    if (count === 0) await held.opened;
    return `answer ${count}`;
  });
  const { runId } = await agent.say('watched', 'one');
  await agent.came(() => agent.requests('watched').length === 1);
  await agent.say('watched', 'two');
  await agent.dev.fetch('/cancel-run', { method: 'POST', body: JSON.stringify({ runId }) });
  // The timer that looks after the run, as it would be due in five minutes.
  const timer = { id: 'agent-watch:"watched"', at: Date.now(), payload: { userId: 'watched' } };
  await agent.dev.fetch('/timer', { method: 'POST', body: JSON.stringify(timer) });
  await agent.came(() => agent.posted('watched').length === 2);
  const { messages } = await agent.idle('watched');
  held.open();
  assert.deepEqual(texts('watched'), ['Something went wrong. Please try again.', 'answer 1']);
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['one', 'Something went wrong. Please try again.', 'two', 'answer 1'],
  );
});

test('the timer that looks after a run leaves one that goes on alone', async () => {
  const held = gate();
  agent.script('healthy', async () => {
    await held.opened;
    return 'done';
  });
  const { runId } = await agent.say('healthy', 'one');
  await agent.came(() => agent.requests('healthy').length === 1);
  const at = Date.now();
  const timer = { id: 'agent-watch:"healthy"', at, payload: { userId: 'healthy' } };
  await agent.dev.fetch('/timer', { method: 'POST', body: JSON.stringify(timer) });
  await agent.came(() => agent.posted('healthy', 'timer').length === 1);
  const set = await agent.dev.fetch('/get-timer', { method: 'POST', body: JSON.stringify({ id: timer.id }) });
  assert.ok((set.json() as { scheduledTime: number }).scheduledTime > at + 60_000);
  assert.equal((await agent.workspace('healthy'))!.activeRunId, runId);
  held.open();
  await agent.idle('healthy');
  assert.deepEqual(texts('healthy'), ['done']);
});

test('what is secret is in the memory and nowhere else', async () => {
  const secret = 'hunter2-correct-horse';
  agent.script('safe', (_request, count) => {
    if (count === 0)
      return { calls: [['memory_set', { key: 'door', value: secret, secret: true }]], content: `I keep ${secret}` };
    if (count === 1) return { calls: [['memory_get', { key: 'door' }]] };
    if (count === 2)
      return {
        calls: [
          ['echo', { token: secret }],
          ['memory_list', {}],
        ],
      };
    return `It is ${secret}`;
  });
  await agent.say('safe', `My password is ${secret}`);
  const workspace = await agent.idle('safe');
  // The model sees it where it asked for it, and the user where the model tells.
  assert.equal(agent.requests('safe')[2]!.messages.at(-1)!.content, secret);
  assert.equal(texts('safe').at(-1), `It is ${secret}`);
  assert.match(agent.requests('safe')[1]!.messages[0]!.content!, /- door: \[SECRET\]$/);
  assert.deepEqual(workspace.memory['door']!.value, secret);
  const { memory: _, ...rest } = workspace;
  assert.equal(JSON.stringify(rest).includes(secret), false, JSON.stringify(rest));
  assert.equal(
    workspace.messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))[0]!
      .function.arguments,
    '{"key":"door","value":"[SECRET]","secret":true}',
  );
  const shown = await agent.dev.fetch('/masked', { method: 'POST', body: '{"userId":"safe"}' });
  assert.equal(shown.text.includes(secret), false);
  assert.equal(texts('safe', 'hook')[0], '["onMemorySet","door",true]');
  // The steps of runs, in the store of workflows.
  const stores = join(agent.folder, '.platform/dev');
  const holding = [];
  for (const name of await readdir(stores, { recursive: true }))
    if (/\.sqlite(?:-wal)?$/.test(name) && (await readFile(join(stores, name))).includes(secret)) holding.push(name);
  assert.deepEqual([...new Set(holding.map((name) => name.replace('-wal', '')))], ['state.sqlite']);
});

test('memories are kept, listed, told to the model, and deleted', async () => {
  agent.script('memo', (_request, count) =>
    count === 0
      ? {
          calls: [
            ['memory_set', { key: 'pet', value: 'a cat' }],
            ['memory_list', { prefix: 'p' }],
            ['memory_delete', { key: 'pet' }],
            ['memory_delete', { key: 'pet' }],
            ['memory_get', { key: 'pet' }],
          ],
        }
      : 'ok',
  );
  await agent.say('memo', 'go');
  await agent.idle('memo');
  const [stored, listed, ...others] = agent
    .requests('memo')[1]!
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content!);
  assert.equal(stored, 'Stored memory "pet".');
  assert.deepEqual(
    (JSON.parse(listed!) as object[]).map((entry) => ({ ...entry, createdAt: 0 })),
    [{ key: 'pet', value: 'a cat', secret: false, createdAt: 0 }],
  );
  assert.deepEqual(others, ['Deleted memory "pet".', 'No memory found for "pet".', 'No memory found for "pet".']);
  assert.deepEqual(texts('memo', 'hook').slice(0, 2), ['["onMemorySet","pet",false]', '["onMemoryDelete","pet"]']);
});

test('an artifact is sent, and its name leads nowhere else', async () => {
  agent.script('files', (_request, count) =>
    count === 0
      ? {
          calls: [
            ['artifact_create', { filename: 'a.txt', content: 'text' }],
            ['artifact_create', { filename: '../a', content: 'x' }],
            ['artifact_create', { filename: 'b.bin', content: 'AAEC', encoding: 'base64' }],
          ],
        }
      : 'ok',
  );
  await agent.say('files', 'go');
  await agent.idle('files');
  assert.deepEqual(texts('files', 'document'), ['a.txt:text', 'b.bin:3']);
  assert.equal(texts('files', 'hook')[0], '["onArtifactCreated","a.txt","text"]');
  assert.match(
    agent.requests('files')[1]!.messages.find(({ content }) => content?.startsWith('Error'))!.content!,
    /without folders/,
  );
});

test('a conversation at rest has 50 messages at most, and no result of a tool without its call', async () => {
  agent.script('long', ({ messages }) =>
    messages.at(-1)!.role === 'user' ? { calls: [['echo', {}]] } : `to ${messages.at(-2)!.role}`,
  );
  for (let turn = 1; turn <= 15; turn++) {
    await agent.say('long', `turn ${turn}`);
    await agent.idle('long');
  }
  const sent = agent.requests('long').at(-1)!.messages.slice(1);
  const { messages } = await agent.idle('long');
  assert.deepEqual([messages.length, messages[0]!.content, messages.at(-4)!.content], [48, 'turn 4', 'turn 15']);
  for (const history of [messages, sent] as { role: string }[][]) {
    assert.equal(history[0]!.role, 'user');
    assert.deepEqual(
      history.filter(({ role }, at) => role === 'tool' && history[at - 1]!.role !== 'assistant'),
      [],
    );
  }
});

test('commands reply, debug mode shows calls, and a server without a manifest is refused', async () => {
  agent.script('cmd', (_request, count) => (count === 0 ? { calls: [['add', { a: 1, b: 2 }]] } : 'ok'));
  assert.equal(await agent.command('debug', 'cmd', 'cmd'), 'Debug mode enabled.');
  await agent.say('cmd', 'go');
  await agent.idle('cmd');
  assert.deepEqual(texts('cmd'), ['[debug] add({"a":1,"b":2}) -> 3', 'ok']);
  assert.equal(await agent.command('debug', 'cmd', 'cmd'), 'Debug mode disabled.');
  assert.match(
    await agent.command('listTools', 'cmd'),
    /^Built-in: memory_set, .*\nCustom: add, fails, huge, hangs, echo$/,
  );
  assert.equal(await agent.command('uninstallMcp', 'cmd', 'x'), 'MCP server "x" is not installed.');
  assert.match(await agent.command('installMcp', 'cmd', 'cmd', 'ftp://x'), /^Not installed: The address/);
  assert.equal(await agent.command('approve', 'cmd'), 'There are no pending approvals.');
});

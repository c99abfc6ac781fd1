// Options of `createAgent` that are misspelt or of a wrong type.
import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Imported by a variable: the package's types include those of web workers, which would replace Node's here. */
const AGENT: string = '#packages/agent/index.ts';
const { createAgent } = (await import(AGENT)) as { createAgent: (options: unknown) => unknown };

const good = { systemPrompt: 'You help.', handle: () => new Response('') };

const refused: readonly (readonly [given: unknown, message: string])[] = [
  [undefined, 'createAgent takes an object with systemPrompt and handle'],
  [{ handle: good.handle }, 'createAgent needs systemPrompt, a text or a function'],
  [{ systemPrompt: 'x' }, 'createAgent needs handle, a function that answers requests'],
  [{ ...good, model: 5 }, 'model must be a text that is not empty'],
  [{ ...good, maxSteps: 0 }, 'maxSteps must be a whole number from 1 to 100'],
  [{ ...good, maxSteps: 101 }, 'maxSteps must be a whole number from 1 to 100'],
  [{ ...good, tools: {} }, 'tools must be a list'],
  [{ ...good, features: { memory: 'off' } }, 'features.memory must be true or false'],
  [
    { ...good, features: { memry: false } },
    'createAgent does not take features.memry: it takes memory, artifacts, scheduling, mcp',
  ],
  [{ ...good, hooks: { onRunError: 1 } }, 'hooks.onRunError must be a function'],
  [
    { ...good, hooks: { onRunComplet: () => {} } },
    'createAgent does not take hooks.onRunComplet: it takes onRunPartial, onMemorySet, onMemoryDelete, ' +
      'onArtifactCreated, onTaskScheduled, onRunComplete, onRunError',
  ],
  [{ ...good, contextCompression: { enabled: 'yes' } }, 'contextCompression.enabled must be true or false'],
  [
    { ...good, contextCompression: { preserveRecentMessages: -1 } },
    'contextCompression.preserveRecentMessages must be a whole number of at least 0',
  ],
  [{ ...good, streaming: true }, 'streaming must be an object'],
  [{ ...good, streaming: { throttleMs: '250' } }, 'streaming.throttleMs must be a whole number of at least 0'],
  [{ ...good, messengers: { sms: 'x' } }, 'messengers.sms must be a function'],
  [{ ...good, health: { path: 'health' } }, 'health.path must be a path that begins with /'],
  [
    { ...good, prompt: 'x' },
    'createAgent does not take prompt: it takes systemPrompt, handle, model, contextCompression, streaming, ' +
      'features, tools, hooks, maxSteps, messengers, health, mcpServer, modelTimeoutMs, approvalTimeoutMs',
  ],
];

test('an option that is misspelt or of a wrong type is an error that names it', () => {
  for (const [given, message] of refused)
    assert.throws(() => createAgent(given as never), { name: 'TypeError', message }, JSON.stringify(given));
});

test('every option of its type is accepted, and absent ones may be undefined', () => {
  assert.ok(createAgent({ ...good, features: { memory: undefined }, model: undefined } as never));
  assert.ok(
    createAgent({
      systemPrompt: async () => 'x',
      handle: good.handle,
      model: 'auto',
      contextCompression: {
        enabled: true,
        maxTokens: 1,
        summaryModel: 'auto',
        preserveRecentMessages: 0,
        summaryPrompt: '{summary} {messages}',
      },
      streaming: { enabled: true, throttleMs: 0, minCharsDelta: 0, maxPartialLength: 1 },
      features: { memory: false, artifacts: false, scheduling: false, mcp: false },
      tools: [],
      hooks: { onRunError: async () => {} },
      maxSteps: 100,
      messengers: { sms: () => ({}) as never },
      health: false,
      mcpServer: { path: '/mcp', name: 'agent', tools: [] },
      modelTimeoutMs: 1,
      approvalTimeoutMs: 1,
    }),
  );
});

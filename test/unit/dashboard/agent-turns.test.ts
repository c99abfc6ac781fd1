// A run of an agent as turns of the model and its tools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf, turnsOf } from '#dashboard/src/pages/jobs/agent-turns.ts';
import type { RunStep } from '#dashboard/src/pages/jobs/run-step.ts';

const step = (name: string, value: unknown, rest: Partial<RunStep> = {}): RunStep => ({
  name,
  kind: 'run',
  status: 'done',
  attempts: 0,
  result: { value },
  error: null,
  wakeAt: null,
  eventType: null,
  startedAt: 10,
  endedAt: 20,
  ...rest,
});
const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"n":1}' } });

test('each answer of the model comes with the tools that it called, by their ids', () => {
  const reply = { content: null, model: 'mock/tools', tool_calls: [call('a', 'denied'), call('b', 'add')] };
  const turns = turnsOf([
    step('ai_call_1', { reply, isDebug: false }),
    // The first call was refused: its step never was.
    step('tools_1', { call: 'b', content: '3' }),
    step('save_step_1', true),
    step('ai_call_2', { reply: { content: 'It is 3.', model: 'mock/tools' } }),
    step('save_final_2', true),
  ]);
  assert.deepEqual(
    turns.map(({ step: n, text, tools }) => [n, text, tools.map(({ name, result }) => [name, result])]),
    [
      [
        1,
        null,
        [
          ['denied', null],
          ['add', '3'],
        ],
      ],
      [2, 'It is 3.', []],
    ],
  );
});

test('a tool that failed shows why, and a model that was not reached too', () => {
  const failed = { name: 'Error', message: 'no such city' };
  const turns = turnsOf([
    step('ai_call_1', { reply: { content: 'Let me look', tool_calls: [call('a', 'weather'), call('b', 'weather')] } }),
    step('tools_1', { call: 'a', content: 'rain' }),
    step('tools_1#2', null, { status: 'failed', result: null, error: failed, attempts: 3 }),
    step('ai_call_2', null, {
      status: 'failed',
      result: null,
      error: { name: 'AiError', message: 'away' },
      attempts: 3,
    }),
  ]);
  assert.deepEqual(
    turns[0]!.tools.map(({ result, isError }) => [result, isError]),
    [
      ['rain', false],
      ['no such city', true],
    ],
  );
  assert.deepEqual([turns[1]!.problem, turns[1]!.attempts, turns[1]!.tools], ['away', 3, []]);
});

test('steps of other workflows are no turns, whatever they returned', () => {
  for (const result of [null, 'text', [1], { value: 'text' }, { value: { reply: [] } }])
    assert.deepEqual(turnsOf([step('charge', null, { result }), step('tools_1', null, { result })]), []);
  assert.deepEqual(
    turnsOf([step('ai_call_1', null, { result: { value: { reply: { tool_calls: [null, 1] } } } })])[0]!.tools,
    [],
  );
  assert.equal(askedOf({ userId: 1 }), null);
  assert.deepEqual(askedOf({ userId: 'ada', chatId: 'web', platform: 'page' }), {
    user: 'ada',
    chat: 'web',
    platform: 'page',
  });
});

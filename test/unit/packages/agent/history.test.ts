// Where the history of an agent is cut, and what is kept out of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capHistory, turnBorder } from '#packages/agent/history.ts';
import { conceal, reveal, revealJson } from '#packages/agent/secrets.ts';
import type { ChatMessage, MemoryEntry } from '#packages/agent/workspace-types.ts';

const roles = { u: 'user', a: 'assistant', t: 'tool' } as const;

function history(letters: string): ChatMessage[] {
  return [...letters].map(
    (letter, at) => ({ role: roles[letter as keyof typeof roles], content: `${at}`, timestamp: at }) as ChatMessage,
  );
}

const contents = (messages: readonly ChatMessage[]): string => messages.map(({ content }) => content).join();

test('a history is cut before a message of the user alone', () => {
  assert.equal(contents(capHistory(history('uatau'), 5)), '0,1,2,3,4');
  assert.equal(contents(capHistory(history('uatauau'), 4)), '4,5,6');
  assert.equal(contents(capHistory(history('uaua'), 1)), '2,3');
  // The last turn stays whole, however long it is.
  assert.equal(contents(capHistory(history('uauatatata'), 3)), '2,3,4,5,6,7,8,9');
  assert.equal(turnBorder(history('aaa'), 2), 0);
});

test('values of secrets give way to placeholders, and come back in texts and in JSON', () => {
  const entry = (value: string, secret = true): MemoryEntry => ({ value, secret, createdAt: 0 });
  const memory = { a: entry('s3cret'), b: entry('s3cret-long"er'), c: entry('plain', false), d: entry('abc') };
  const masked = conceal('s3cret plain abc s3cret-long"er', memory);
  assert.equal(masked, '[SECRET:a] plain abc [SECRET:b]');
  assert.equal(
    reveal(`${masked} [SECRET:c] [SECRET:x]`, memory),
    's3cret plain abc s3cret-long"er [SECRET:c] [SECRET:x]',
  );
  const json = conceal(JSON.stringify({ x: ['s3cret-long"er'] }), memory);
  assert.equal(json, '{"x":["[SECRET:b]"]}');
  assert.deepEqual(JSON.parse(revealJson(json, memory)), { x: ['s3cret-long"er'] });
});

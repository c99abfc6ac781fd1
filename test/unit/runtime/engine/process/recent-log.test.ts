// What an engine keeps of its projects' logs is bounded: the oldest lines go first, and projects that are silent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentLog } from '#runtime/engine/process/recent-log.ts';

const say = (log: RecentLog, project: string, text: string): void =>
  log.line(project, 'd1', { level: 'info', text, invocation: null, traceId: null });
const texts = (log: RecentLog, project: string, after = 0): string[] =>
  log.read(project, after).lines.map(({ text }) => text);

test('lines are read from a number on', () => {
  const log = new RecentLog({ bytesMax: 10_000, projectsMax: 2 });
  say(log, 'shop', 'one');
  const { next } = log.read('shop', 0);
  say(log, 'other', 'x');
  say(log, 'shop', 'two');
  assert.deepEqual([texts(log, 'shop'), texts(log, 'shop', next), texts(log, 'nobody')], [['one', 'two'], ['two'], []]);
});

test('the oldest lines go, and a line that is larger than all of it is cut', () => {
  const log = new RecentLog({ bytesMax: 10_000, projectsMax: 2 });
  for (let n = 0; n < 1000; n++) say(log, 'shop', `line ${n}`);
  const kept = texts(log, 'shop');
  assert.ok(kept.length >= 30 && kept.length <= 50, String(kept.length));
  assert.equal(kept.at(-1), 'line 999');
  say(log, 'shop', 'x'.repeat(1_000_000));
  assert.ok(texts(log, 'shop').every(({ length }) => length <= 5004));
});

test('of the projects those stay that wrote last', () => {
  const log = new RecentLog({ bytesMax: 10_000, projectsMax: 2 });
  say(log, 'a', '1');
  say(log, 'b', '1');
  say(log, 'a', '2');
  say(log, 'c', '1');
  assert.deepEqual([texts(log, 'a'), texts(log, 'b'), texts(log, 'c')], [['1', '2'], [], ['1']]);
});

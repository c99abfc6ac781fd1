import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { withoutSilence } from '#resources/event-silence.ts';
import { until } from '#test/setup/until.ts';

test('a silence between events has a comment in it, and one inside an event has none', async () => {
  const events = new PassThrough();
  const kept = withoutSilence(events, 5);
  let text = '';
  kept.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await until(() => text.startsWith(': still here\n\n'));
  events.write('data: {"type":');
  await until(() => text.endsWith('data: {"type":'));
  const before = text;
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(text, before);
  events.write('"x"}\n');
  events.write('\n');
  await until(() => text.endsWith('data: {"type":"x"}\n\n: still here\n\n'));
  events.end();
  await new Promise((resolve) => void kept.once('end', resolve));
});

test('what breaks off is an error for who reads, and who hangs up ends what is read', async () => {
  const broken = new PassThrough();
  const kept = withoutSilence(broken, 5);
  const failed = new Promise((resolve) => void kept.once('error', resolve));
  broken.destroy(new Error('cut'));
  assert.equal(((await failed) as Error).message, 'cut');
  const left = new PassThrough();
  const closed = new Promise((resolve) => void left.once('close', resolve));
  withoutSilence(left, 5)
    .on('error', () => {})
    .destroy();
  await closed;
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventRecord, thrownIn } from '#runtime/engine/invocation/event-record.ts';

test('an event is known by its name, its id where it has one, and its attempt', () => {
  const messages = [{ id: 'm1', payload: 1, attempt: 3, timestamp: 1 }];
  assert.deepEqual(
    eventRecord('queue', JSON.stringify({ queueName: 'mail', binding: 'MAIL', attemptsMax: 4, messages })),
    {
      name: 'mail',
      id: '',
      attempt: 3,
      attemptsMax: 4,
    },
  );
  assert.deepEqual(eventRecord('timer', '{"binding":"CLOCK","id":"t1"}'), {
    name: 'CLOCK',
    id: 't1',
    attempt: 1,
    attemptsMax: 0,
  });
  assert.deepEqual(eventRecord('cron', '{"name":"nightly","attempt":2,"attemptsMax":4}'), {
    name: 'nightly',
    id: '',
    attempt: 2,
    attemptsMax: 4,
  });
  assert.equal(eventRecord('workflow', '{"workflow":"orders","executionId":"e1"}').id, 'e1');
});

test('a run is named by its head, whatever its id holds', () => {
  const head = '"workflow":"orders","executionId":"a,\\"input\\":","attempt":2,"attemptsMax":4';
  assert.deepEqual(eventRecord('workflow', `{${head}}`), {
    name: 'orders',
    id: 'a,"input":',
    attempt: 2,
    attemptsMax: 4,
  });
});

test('whatever an operator gives as an event, there is a record of it', () => {
  for (const event of [
    '{"workflow":"","a":{"b":1,"input":2}}',
    'null',
    '1',
    '[]',
    '{"messages":[]}',
    '{"messages":[null]}',
    '{"messages":{},"attempt":"x"}',
  ])
    for (const kind of ['queue', 'timer', 'cron', 'workflow'] as const)
      assert.deepEqual(eventRecord(kind, event), { name: '', id: '', attempt: 1, attemptsMax: 0 });
});

test('what a handler threw is in the result of its event', () => {
  assert.equal(thrownIn(null), null);
  assert.equal(thrownIn('{"acked":["m1"],"retry":[]}'), null);
  assert.equal(thrownIn('{"acked":[],"retry":[{"id":"m1","error":"no"}],"thrown":"no"}'), 'no');
  assert.equal(thrownIn('{"noRetry":true,"thrown":""}'), '');
  assert.equal(thrownIn('{"status":"failed","error":{"name":"Error","message":"sold out"}}'), 'sold out');
  assert.equal(thrownIn('{"status":"completed","output":{"thrown":null}}'), null);
});

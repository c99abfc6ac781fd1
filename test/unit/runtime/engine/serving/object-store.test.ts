import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseStore } from '#runtime/engine/bindings/database.ts';
import type { ObjectAlarms } from '#runtime/engine/serving/objects/object-alarms.ts';
import { ObjectStore } from '#runtime/engine/serving/objects/object-store.ts';

const HOUR_MS = 3_600_000;

test('the timer of an alarm is set before the alarm is committed, also after an earlier timer has fired', async () => {
  const steps: string[] = [];
  const place = { namespace: 'rooms', resource: '0'.repeat(64) };
  const store = new ObjectStore({
    store: { run: async () => (steps.push('commit'), '{"t":0,"v":[]}') } as unknown as DatabaseStore,
    alarms: {
      get: async () => null,
      set: async (_owner: unknown, at: number) => void steps.push(`timer ${at}`),
    } as unknown as ObjectAlarms,
    place,
    owner: { ...place, project: 'rooms', branch: 'main', preview: null, id: place.resource, class: 'Room' },
    fence: 1,
  });
  const set = (alarm: number): Promise<string> =>
    store.request({ steps: '[]', commits: true, alarm, owner: undefined });
  const due = Date.now() - 1;
  await set(due);
  const [next, later, sooner] = [1, 2, 1.5].map((hours) => due + hours * HOUR_MS) as [number, number, number];
  await set(next);
  await set(later);
  await set(sooner);
  assert.deepEqual(steps, [
    `timer ${due}`,
    'commit',
    `timer ${next}`,
    'commit',
    // The earlier timer wakes the object: it finds no due alarm, and its timer is set after the commit.
    'commit',
    `timer ${later}`,
    `timer ${sooner}`,
    'commit',
  ]);
});

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Forwarder } from '#runtime/engine/cluster/forwarder.ts';
import { homes } from '#runtime/engine/cluster/homes.ts';
import { Placement, type ClusterState } from '#runtime/engine/cluster/placement.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';

/** A deployment whose home is place 0. */
const away = Array.from({ length: 50 }, (_, index) => `project/d${index}`).find(
  (key) => homes(key, [0, 1], 1)[0] === 0,
) as string;
const serving: ClusterState['serving'] = [
  { place: 0, link: '/zero' },
  { place: 1, link: '/one' },
];
const request = (headerBlock = ''): Exchange => ({ headerBlock, onAbort: null }) as Exchange;

/** The placement of place 1, and what it did with requests. */
function setUp(options: { forwardsMax?: number; place?: number | null } = {}) {
  const did: string[] = [];
  const { place = 1, forwardsMax = 3 } = options;
  const placement = new Placement({
    place: () => place,
    forwardsMax,
    forwarder: {
      forward: (link: string, _key: string, _exchange: Exchange, counter: { inFlight: number }) => {
        counter.inFlight++;
        did.push(`to ${link}`);
      },
      retain: (links: ReadonlySet<string>) => void did.push(`keep ${[...links].join(' ')}`),
    } as unknown as Forwarder,
    requestEngine: (deployment) => void did.push(`want ${deployment}`),
    serveHere: (deployment) => void did.push(`here ${deployment}`),
    refuse: (_exchange, strikes, seconds) => void did.push(`refuse ${strikes} ${seconds}`),
  });
  return { placement, did };
}
const cold = { hasIsolate: false };

function atTime(t: TestContext, now: number): void {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now });
}

test('at home, alone, and with forwarding off everything is served here', () => {
  const home = setUp({ place: 0 });
  home.placement.update({ serving, quarantined: [] });
  assert.equal(home.placement.remoteOf(away, cold, null), null);
  const alone = setUp();
  alone.placement.update({ serving: [serving[1]!], quarantined: [] });
  assert.equal(alone.placement.remoteOf(away, cold, null), null);
  const off = setUp({ forwardsMax: 0 });
  off.placement.update({ serving, quarantined: [] });
  assert.equal(off.placement.remoteOf(away, cold, null), null);
});

test('away from home requests are forwarded until an isolate here would have been cheaper', () => {
  const { placement, did } = setUp({ forwardsMax: 3 });
  placement.update({ serving, quarantined: [] });
  const remote = placement.remoteOf(away, cold, null)!;
  assert.deepEqual(
    [1, 2, 3, 4].map(() => remote.take(request())),
    [true, true, true, false],
  );
  assert.deepEqual(did, ['keep /zero /one', 'to /zero', 'to /zero', 'to /zero']);
});

test('a deployment that is warm here is served here, and so is a WebSocket', () => {
  const { placement } = setUp();
  placement.update({ serving, quarantined: [] });
  assert.equal(placement.remoteOf(away, { hasIsolate: true }, null)!.take(request()), false);
  assert.equal(placement.remoteOf(away, cold, null)!.take(request('upgrade\0websocket\0')), false);
  assert.equal(placement.remoteOf(away, cold, null)!.take(request('x-note\0no upgrade\0')), true);
});

test('a home that has enough to do gets no more', () => {
  const { placement } = setUp({ forwardsMax: 1000 });
  placement.update({ serving, quarantined: [] });
  const remote = placement.remoteOf(away, cold, null)!;
  const taken = Array.from({ length: 65 }, () => remote.take(request()));
  assert.deepEqual([taken.indexOf(false), taken.length], [64, 65]);
});

test('counts go on while the home stays where it is, and begin anew when it moves', () => {
  const { placement } = setUp();
  placement.update({ serving, quarantined: [] });
  const first = placement.remoteOf(away, cold, null)!;
  placement.update({ serving, quarantined: [] });
  assert.equal(placement.remoteOf(away, cold, first), first);
  placement.update({ serving: [{ place: 0, link: '/zero-again' }, serving[1]!], quarantined: [] });
  assert.notEqual(placement.remoteOf(away, cold, first), first);
});

test('a deployment that is quarantined is refused while it waits, also at home', (t) => {
  atTime(t, 10_000);
  const { placement, did } = setUp({ place: 0 });
  const apart = { deployment: away, strikes: 3, until: 12_500, link: null, returns: false };
  placement.update({ serving, quarantined: [apart] });
  const remote = placement.remoteOf(away, { hasIsolate: true }, null)!;
  assert.deepEqual([remote.isQuarantined, remote.take(request())], [true, true]);
  assert.deepEqual(did.slice(1), ['refuse 3 3']);
});

test('after its wait its requests are held until its engine is there, and then sent to it', (t) => {
  atTime(t, 20_000);
  const { placement, did } = setUp();
  const apart = { deployment: away, strikes: 2, until: 12_500, link: null, returns: false };
  placement.update({ serving, quarantined: [apart] });
  placement.remoteOf(away, cold, null)!.take(request());
  placement.release();
  assert.deepEqual(did.slice(1), [`want ${away}`]);
  placement.update({ serving, quarantined: [{ ...apart, link: '/own' }] });
  placement.release();
  assert.deepEqual(did.slice(2), ['keep /zero /one /own', 'to /own']);
});

test('a held request is refused when no engine comes, and served here when its deployment is let back', (t) => {
  atTime(t, 20_000);
  const { placement, did } = setUp();
  const apart = { deployment: away, strikes: 2, until: 12_500, link: null, returns: false };
  placement.update({ serving, quarantined: [apart] });
  placement.remoteOf(away, cold, null)!.take(request());
  t.mock.timers.tick(5000);
  placement.remoteOf(away, cold, null)!.take(request());
  placement.update({ serving, quarantined: [] });
  placement.release();
  assert.deepEqual(
    did.filter((what) => !what.startsWith('keep')),
    [`want ${away}`, 'refuse 2 1', `want ${away}`, `here ${away}`],
  );
});

test('a quarantine engine serves what it is given', () => {
  const { placement } = setUp({ place: null });
  placement.update({
    serving,
    quarantined: [{ deployment: away, strikes: 2, until: 0, link: '/own', returns: false }],
  });
  assert.equal(placement.remoteOf(away, cold, null), null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profileShares } from '#bench/profile-shares.ts';
import { parseCalls } from '#bench/system-calls.ts';
import { parseThread, usedBetween, type ThreadFigures } from '#bench/thread-figures.ts';

test('what /proc says of a thread is read, whatever its name holds', () => {
  const stat = '71 (a) b (c) S 70 71 71 0 -1 4194304 9 0 0 0 31 7 0 0 20 0 11 0 8837';
  const status = 'Name:\tx\nvoluntary_ctxt_switches:\t405\nnonvoluntary_ctxt_switches:\t12\n';
  assert.deepEqual(parseThread(stat, status, '383908305 26038499 358\n'), {
    name: 'a) b (c',
    counts: { cpuNs: 383908305, userTicks: 31, systemTicks: 7, waits: 405, preemptions: 12 },
  });
  assert.equal(parseThread(stat, status, ''), null);
});

test('threads of one name are added up, also those that began in between', () => {
  const figures = (thread: string, cpuNs: number): ThreadFigures => ({
    process: 'engine',
    thread,
    cpuNs,
    userTicks: 1,
    systemTicks: 1,
    waits: cpuNs / 10,
    preemptions: 0,
  });
  const before = new Map([
    [1, figures('main', 100)],
    [2, figures('isolates', 10)],
  ]);
  const after = new Map([
    [1, figures('main', 150)],
    [2, figures('isolates', 70)],
    [3, figures('isolates', 30)],
  ]);
  assert.deepEqual(
    usedBetween(before, after).map(({ thread, cpuNs, waits }) => [thread, cpuNs, waits]),
    [
      ['isolates', 90, 9],
      ['main', 50, 5],
    ],
  );
});

test('a profile is told by who owns the code, of the time in which the thread worked', () => {
  const node = (id: number, functionName: string, url = ''): object => ({ id, callFrame: { functionName, url } });
  const profile = {
    nodes: [
      node(1, '(idle)'),
      node(2, '(garbage collector)'),
      node(3, 'writev'),
      node(4, 'parserOnIncoming', 'node:_http_server'),
      node(5, 'send', 'file:///srv/platform/runtime/engine/http/uws-exchange.ts'),
    ],
    samples: [1, 1, 1, 1, 2, 3, 3, 4, 5, 5, 5, 3, 3, 3],
  } as Parameters<typeof profileShares>[0];
  const { owners, functions } = profileShares(profile);
  assert.deepEqual(owners, [
    { name: 'native functions called by JavaScript', share: 0.5 },
    { name: 'JavaScript of runtime/engine/http', share: 0.3 },
    { name: 'garbage collection', share: 0.1 },
    { name: 'JavaScript of Node', share: 0.1 },
  ]);
  assert.deepEqual(functions[1], { name: 'send http/uws-exchange.ts', share: 0.3 });
});

test('calls that strace wrote are counted by thread, one that was interrupted once', () => {
  const written = `7 futex(0x1, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>
8    read(5, ""..., 8) = 8
7 <... futex resumed>) = 0
7 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0
8 --- SIGURG {si_signo=SIGURG} ---
`;
  assert.deepEqual(
    parseCalls(written, (thread) => (thread === 8 ? 'main' : 'isolates')),
    [
      { thread: 'isolates', name: 'futex', count: 2 },
      { thread: 'main', name: 'read', count: 1 },
    ],
  );
});

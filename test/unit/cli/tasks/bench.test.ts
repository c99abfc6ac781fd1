// What `npm run bench NAME -- --save` writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandOf, formatResult } from '#cli/tasks/bench.ts';

test('the command names the variables that shorten a run, and no others', () => {
  const environment = { BENCH_SECONDS: '1', BENCH_ROUNDS: '4', PATH: '/bin' };
  assert.equal(commandOf('hello', environment), 'BENCH_ROUNDS=4 BENCH_SECONDS=1 npm run bench hello');
  assert.equal(commandOf('isolate', {}), 'npm run bench isolate');
});

test('a result names command, date, commit and machine, and holds what was printed', () => {
  const result = {
    name: 'hello',
    command: 'BENCH_ROUNDS=4 npm run bench hello',
    date: '2026-11-23 04:00 UTC',
    commit: 'abc1234',
    machine: '2 cores of Some CPU, 24 GB of memory, Linux 6.18.0, Node 24.21.0',
    load: 0.42,
    output: '\n64 connections  CPU us\nours              26.1\n',
  };
  assert.equal(
    formatResult(result),
    [
      '# `hello`',
      '',
      'Written by `BENCH_ROUNDS=4 npm run bench hello -- --save`.',
      '',
      '- Date: 2026-11-23 04:00 UTC',
      '- Commit: abc1234',
      '- Machine: 2 cores of Some CPU, 24 GB of memory, Linux 6.18.0, Node 24.21.0',
      '- Load average before it began: 0.4',
      '',
      '```',
      '64 connections  CPU us',
      'ours              26.1',
      '```',
      '',
    ].join('\n'),
  );
});

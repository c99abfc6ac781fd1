import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { cpuMs, parseWrk, residentBytes } from '#bench/load.ts';

const printed = `Running 2s test @ http://127.0.0.1:4001/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.22ms  312.00us  20.00ms   92.99%
    Req/Sec    51.20k     2.10k   55.00k    80.50%
  Latency Distribution
     50%  920.00us
     75%    1.30ms
     90%    1.80ms
     99%    1.20s
  101899 requests in 2.00s, 16.00MB read
Requests/sec:  50949.50
Transfer/sec:      8.00MB
`;

test('what wrk prints is read with its units', () => {
  assert.deepEqual(parseWrk(printed), {
    requests: 101_899,
    readBytes: 16_777_216,
    perSecond: 50_949.5,
    p50Ms: 0.92,
    p99Ms: 1200,
    bad: 0,
  });
});

test('answers that are no success and broken sockets count as bad', () => {
  const bad = `${printed}  Socket errors: connect 1, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 40\n`;
  assert.equal(parseWrk(bad).bad, 46);
});

test('a run without an answered request is an error with the words of wrk', () => {
  assert.throws(() => parseWrk('unable to connect to 127.0.0.1:1 Connection refused\n'), /Connection refused/);
});

test('CPU time and memory of a process are read from the system, with those of the processes below it', async (t) => {
  const script =
    'while (process.cpuUsage().user < 150_000); process.stdout.write(JSON.stringify(process.cpuUsage())); setInterval(() => {}, 1000);';
  const [cpuBefore, residentBefore] = [cpuMs(process.pid), residentBytes(process.pid)];
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  t.after(() => child.kill() && exited);
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  // This process has others below it, of other files: the child has none.
  const { user, system } = JSON.parse(String(text)) as NodeJS.CpuUsage;
  const read = cpuMs(child.pid!);
  assert.ok(Math.abs(read - (user + system) / 1000) <= 100, `${read} ms, and it says ${user + system} us`);
  assert.ok(residentBytes(child.pid!) > 10_000_000);
  assert.ok(cpuMs(process.pid) - cpuBefore >= 100);
  assert.ok(residentBytes(process.pid) - residentBefore > 10_000_000);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRecord } from '#runtime/engine/invocation/request-record.ts';
import { openEngineLog } from '#runtime/engine/process/log.ts';
import { failed, ok } from '#runtime/engine/invocation/outcome.ts';

type Line = Record<string, unknown>;

function open(environment: Record<string, string>): { lines: Line[]; log: ReturnType<typeof openEngineLog> } {
  const lines: Line[] = [];
  const log = openEngineLog(environment, { write: (text) => void lines.push(JSON.parse(text) as Line) });
  return { lines, log };
}

const record: RequestRecord = {
  kind: 'http',
  invocation: 'abc-1',
  traceId: null,
  requestId: null,
  deployment: 'd1',
  project: 'shop',
  method: 'GET',
  target: '/path?token=secret',
  status: 200,
  event: null,
  outcome: ok,
  cpuMs: 0.123456,
  wallMs: 1.23456,
};
const all = [
  record,
  { ...record, outcome: failed('client_gone') },
  { ...record, outcome: failed('worker_threw') },
  { ...record, outcome: failed('internal') },
];

/** Levels of the lines about these four. */
function levels(environment: Record<string, string>): unknown {
  const { lines, log } = open(environment);
  for (const entry of all)
    if (log.onRequest !== null && (entry.outcome.kind === 'failed' || log.onlyFailures !== true)) log.onRequest(entry);
  return lines.map(({ level }) => level);
}

test('failures of workers are warnings, of the platform errors, and the rest is for debugging', () => {
  assert.deepEqual(levels({}), [40, 50]);
  assert.deepEqual(levels({ LOG_LEVEL: 'debug' }), [20, 20, 40, 50]);
  assert.deepEqual(levels({ LOG_LEVEL: 'error' }), [50]);
  assert.deepEqual(levels({ LOG_LEVEL: 'silent' }), []);
  assert.deepEqual(levels({ LOG_REQUESTS: 'all' }), [30, 30, 40, 50]);
  assert.deepEqual(levels({ LOG_REQUESTS: 'all', LOG_LEVEL: 'warn' }), [40, 50]);
  assert.deepEqual(levels({ LOG_REQUESTS: 'none', LOG_LEVEL: 'debug' }), []);
});

test('requests that ended well make no record where nobody would read it', () => {
  assert.equal(open({}).log.onlyFailures, true);
  assert.equal(open({ LOG_LEVEL: 'debug' }).log.onlyFailures, false);
  assert.equal(open({ LOG_REQUESTS: 'all' }).log.onlyFailures, false);
  assert.equal(open({ LOG_LEVEL: 'silent' }).log.onRequest, null);
});

test('a line about an event has its name and its attempt', () => {
  const { lines, log } = open({ LOG_REQUESTS: 'all' });
  const event = { name: 'reminders', id: 't1', attempt: 2, attemptsMax: 4 };
  log.onRequest!({
    ...record,
    kind: 'timer',
    method: '',
    target: '',
    event,
    outcome: failed('worker_threw', { reason: 'no' }),
  });
  const { kind, outcome, event: name, eventId, attempt } = lines[0]!;
  assert.deepEqual([kind, outcome, name, eventId, attempt], ['timer', 'worker_threw', 'reminders', 't1', 2]);
});

test('a line about an invocation has its fields and no query', () => {
  const { lines, log } = open({ LOG_REQUESTS: 'all' });
  log.onRequest!({ ...record, traceId: 'f00', requestId: 'of-the-proxy' });
  const { time: _time, pid: _pid, hostname: _host, ...line } = lines[0]!;
  assert.deepEqual(line, {
    level: 30,
    name: 'engine',
    deployment: 'd1',
    project: 'shop',
    invocation: 'abc-1',
    kind: 'http',
    outcome: 'ok',
    method: 'GET',
    path: '/path',
    status: 200,
    cpuMs: 0.123,
    wallMs: 1.235,
    traceId: 'f00',
    requestId: 'of-the-proxy',
    msg: 'invocation',
  });
});

test('a line of a worker stays one line and one field, whatever it says', () => {
  const { lines, log } = open({});
  const config = { id: 'd1', project: 'shop' } as Parameters<typeof log.onLog>[0];
  log.onLog(config, { level: 'info', text: 'first\n{"level":50}', invocation: 'abc-1', traceId: null });
  assert.deepEqual(
    [lines.length, lines[0]!['msg'], lines[0]!['invocation'], 'traceId' in lines[0]!],
    [1, 'first\n{"level":50}', 'abc-1', false],
  );
});

test('a setting that cannot be understood is named', () => {
  assert.throws(() => open({ LOG_LEVEL: 'verbose' }), {
    message: 'LOG_LEVEL must be one of debug, info, warn, error, silent, but is "verbose"',
  });
  assert.throws(() => open({ LOG_REQUESTS: 'some' }), {
    message: 'LOG_REQUESTS must be one of failures, all, none, but is "some"',
  });
});

test('on a terminal lines are for people, without colours where NO_COLOR is set, and nothing of them moves the cursor', () => {
  const lines: string[] = [];
  const open = (environment: Record<string, string>, isTTY = true) =>
    openEngineLog(environment, { isTTY, write: (text) => void lines.push(text.replace(/\d\d:\d\d:\d\d/, 'TIME')) });
  const plain = open({ NO_COLOR: '1' });
  plain.onRequest!({ ...record, status: 500, outcome: failed('worker_threw'), traceId: 'a1' });
  plain.onRequest!({ ...record, kind: 'queue', outcome: failed('internal') });
  const config = { id: 'd1', project: 'shop' } as Parameters<typeof plain.onLog>[0];
  plain.onLog(config, {
    level: 'error',
    text: 'Uncaught Error: \u001b[2J\n\tat x',
    invocation: 'abc-2',
    traceId: null,
  });
  plain.log.info({ port: 4001, kind: 'x' }, 'engine listening');
  plain.log.error(Object.assign(new Error('broken'), { stack: 'Error: broken\n    at y' }));
  assert.deepEqual(lines, [
    'TIME warn  shop  GET /path 500 worker_threw, CPU 0.123 ms, wall 1.235 ms  deployment=d1 invocation=abc-1 traceId=a1\n',
    'TIME error shop  queue internal, CPU 0.123 ms, wall 1.235 ms  deployment=d1 invocation=abc-1\n',
    'TIME error shop  Uncaught Error: \\u001b[2J\n  at x  deployment=d1 invocation=abc-2\n',
    'TIME info  engine  engine listening  port=4001 kind=x\n',
    'TIME error engine  broken\nError: broken\n    at y\n',
  ]);
  lines.length = 0;
  open({}).log.warn('careful');
  assert.ok(lines[0]!.includes('\u001b[33mwarn \u001b[39m'), lines[0]);
});

test('LOG_FORMAT decides whatever standard output is; without it, what is no terminal gets JSON', () => {
  const first = (environment: Record<string, string>, isTTY: boolean): string => {
    let line = '';
    openEngineLog(environment, { isTTY, write: (text) => (line = text) }).log.info('hello');
    return line.slice(0, 1);
  };
  assert.deepEqual([first({}, true), first({}, false)], ['\u001b', '{']);
  assert.deepEqual(
    [first({ LOG_FORMAT: 'json' }, true), first({ LOG_FORMAT: 'TEXT', NO_COLOR: '1' }, false) === '{'],
    ['{', false],
  );
  assert.throws(() => open({ LOG_FORMAT: 'pretty' }), {
    message: 'LOG_FORMAT must be one of text, json, but is "pretty"',
  });
});

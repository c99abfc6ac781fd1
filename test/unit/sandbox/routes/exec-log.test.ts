// What is logged of a command: what it printed, as far as it fits, whatever an agent says, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TERMINAL_FRAME, terminalFrame } from '#core/sandbox/terminal-frames.ts';
import { createExecLog, type ExecLine } from '#sandbox/routes/exec-log.ts';

const place = { project: 'shop', resource: 'boxes', id: 'one' };

/** What is logged of an answer that comes in these chunks; all of it is passed on. */
async function logged(
  operation: 'exec' | 'execStream' | 'terminal',
  chunks: readonly (string | Buffer)[],
): Promise<ExecLine> {
  const lines: ExecLine[] = [];
  const log = createExecLog((line) => void lines.push(line))(place, operation)!;
  let passed = '';
  for await (const chunk of log(from(chunks))) passed += chunk.toString();
  assert.equal(passed, chunks.join(''));
  assert.equal(lines.length, 1);
  return lines[0]!;
}

async function* from(chunks: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk as string);
}

test('of a command that somebody waits for, both outputs and the exit code', async () => {
  const result = { stdout: 'a "quoted"\nline', stderr: '"stderr":"no', exitCode: 3, success: false };
  assert.deepEqual(await logged('exec', [JSON.stringify(result)]), {
    ...place,
    stdout: 'a "quoted"\nline',
    stderr: '"stderr":"no',
    exitCode: 3,
    isCut: false,
  });
});

test('of one that streams, what came in events, without the command', async () => {
  const events = [
    { type: 'start', command: 'TOKEN=secret run', pid: 7 },
    { type: 'stdout', data: 'one\n' },
    { type: 'stderr', data: 'oh' },
    { type: 'stdout', data: 'two\n' },
    { type: 'complete', success: true, exitCode: 0 },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
  assert.deepEqual(await logged('execStream', events), {
    ...place,
    stdout: 'one\ntwo\n',
    stderr: 'oh',
    exitCode: 0,
    isCut: false,
  });
});

test('of much output, the first 16 KiB of the answer', async () => {
  const long = await logged('exec', [JSON.stringify({ stdout: '\n'.repeat(1e6), stderr: 'late', exitCode: 0 })]);
  // Two bytes each, behind `{"stdout":"`.
  assert.deepEqual(long, { ...place, stdout: '\n'.repeat(8186), stderr: '', exitCode: null, isCut: true });
});

test('of an agent that lies, nothing', async () => {
  for (const answer of ['', 'null', '{"stdout":{},"stderr":7,"exitCode":"0"}', 'data: 7\n\ndata: null\n\n', '\0'])
    for (const operation of ['exec', 'execStream'] as const)
      assert.deepEqual(
        await logged(operation, [answer]),
        { ...place, stdout: '', stderr: '', exitCode: null, isCut: false },
        answer,
      );
});

test('a caller that goes before the end leaves what there was until then', async () => {
  const lines: ExecLine[] = [];
  const log = createExecLog((line) => void lines.push(line))(place, 'execStream')!;
  for await (const _ of log(from(['data: {"type":"stdout","data":"half"}\n\n', 'never read']))) break;
  assert.deepEqual(lines, [{ ...place, stdout: 'half', stderr: '', exitCode: null, isCut: true }]);
});

test('what files, processes and servers in a sandbox say is not logged', () => {
  const log = createExecLog(() => assert.fail('logged'));
  for (const operation of ['readFile', 'fetch', 'getProcessLogs', 'setEnvVars', 'gitCheckout'] as const)
    assert.equal(log(place, operation), null, operation);
});

test('of a terminal, what it printed and how it ended, as far as it fits', async () => {
  const { bytes, exit, started } = TERMINAL_FRAME;
  const printed = [
    terminalFrame(started),
    terminalFrame(bytes, Buffer.from('$ ls\r\n')),
    terminalFrame(bytes, Buffer.from('a')),
  ];
  const end = terminalFrame(exit, { exitCode: 4 });
  const all = { ...place, stdout: '$ ls\r\na', stderr: '', exitCode: 4, isCut: false };
  assert.deepEqual(await logged('terminal', [...printed, end]), all);
  const long = terminalFrame(bytes, Buffer.alloc(20_000, 'x'));
  const cut = await logged('terminal', [...printed, long, end]);
  assert.deepEqual([cut.stdout.slice(0, 8), cut.exitCode, cut.isCut], ['$ ls\r\nax', null, true]);
  const odd = await logged('terminal', [printed[1]!, Buffer.from([9, 0, 0, 0, 0])]);
  assert.deepEqual([odd.stdout, odd.exitCode], ['$ ls\r\n', null]);
});

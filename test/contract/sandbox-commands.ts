// Commands and processes in a sandbox: part of the contract of backends (sandbox.ts).
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { freePort } from '#test/setup/free-port.ts';
import { ownSeconds, findProcess, textOf, until, type Asker, type Fields, type Started } from './sandbox-asker.ts';

/**
 * @param box the machine that all of them use.
 * @param streamedBytes of an output that is more than an answer holds.
 */
export function testCommands(box: () => Asker, streamedBytes: number): void {
  it('runs a command and says what it wrote, and how it ended', async () => {
    const result = await box().exec('echo out; echo err >&2; exit 3');
    assert.deepEqual(
      { ...result, durationMs: 0 },
      {
        stdout: 'out\n',
        stderr: 'err\n',
        exitCode: 3,
        success: false,
        durationMs: 0,
        truncated: false,
        timedOut: false,
      },
    );
    assert.equal((await box().exec('true')).success, true);
  });

  it('runs a program with its arguments as they are, without a shell', async () => {
    assert.equal((await box().exec(['printf', '%s|', '$HOME', 'a b', ''])).stdout, '$HOME|a b||');
    await assert.rejects(box().exec(['no-such-program']), { code: 'file_not_found' });
    assert.equal((await box().exec('no-such-program')).exitCode, 127);
  });

  it('begins in the workspace, or where it is told, with the variables it is given', async () => {
    await box().ask('mkdir', { path: 'sub/deep', recursive: true });
    assert.match((await box().exec('pwd')).stdout, /workspace\n$/);
    assert.match((await box().exec('pwd', { cwd: '/workspace/sub' })).stdout, /workspace\/sub\n$/);
    assert.match((await box().exec('pwd', { cwd: 'sub/deep' })).stdout, /workspace\/sub\/deep\n$/);
    assert.equal((await box().exec('echo $ONE-$TWO', { env: { ONE: '1', TWO: 'zwei' } })).stdout, '1-zwei\n');
    await assert.rejects(box().exec('true', { cwd: '/workspace/none' }), { code: 'file_not_found' });
  });

  it('gives a command what it reads', async () => {
    assert.equal((await box().exec('cat', { stdin: { text: 'grüße' } })).stdout, 'grüße');
    const base64 = Buffer.from([0, 1, 254]).toString('base64');
    assert.match((await box().exec('od -An -tu1', { stdin: { base64 } })).stdout, /0\s+1\s+254/);
    // Nobody has to read it.
    assert.equal((await box().exec('true', { stdin: { text: 'x'.repeat(500_000) } })).exitCode, 0);
  });

  it('has standard streams that programs can open by their names', async () => {
    const written = await box().exec('echo out > /dev/stdout; echo err > /dev/stderr; echo more >> /dev/stderr');
    assert.deepEqual([written.stdout, written.stderr, written.exitCode], ['out\n', 'err\nmore\n', 0]);
    assert.equal((await box().exec('cat /dev/stdin', { stdin: { text: 'read' } })).stdout, 'read');
  });

  it('ends a command at its time limit with all that it started, and says so', async () => {
    const sleep = `sleep ${ownSeconds(1)}`;
    const result = await box().exec(`echo begun; trap "" TERM; setsid ${sleep} & ${sleep}`, { timeoutMs: 400 });
    assert.deepEqual([result.timedOut, result.exitCode, result.success, result.stdout], [true, 124, false, 'begun\n']);
    assert.equal((await box().exec(`${findProcess(sleep)} || echo none`)).stdout, 'none\n');
  });

  it('refuses more than ten minutes, with a hint to processes', async () => {
    await assert.rejects(box().exec('true', { timeoutMs: 600_001 }), {
      code: 'invalid_argument',
      message: /600000 \(10 minutes\).*startProcess/,
    });
  });

  it('ends a command whose caller has gone', async () => {
    const gone = new AbortController();
    const asked = box().raw('exec', { command: 'echo $$ > pid-of-gone; sleep 4712' }, undefined, gone.signal);
    await box().exec('until test -s pid-of-gone; do sleep 0.01; done');
    gone.abort();
    await assert.rejects(asked);
    const check = 'while kill -0 $(cat pid-of-gone) 2>/dev/null; do sleep 0.01; done; echo ended';
    assert.equal((await box().exec(check)).stdout, 'ended\n');
  });

  it('does not wait for what a command leaves running', async () => {
    const result = await box().exec('sleep 4713 & echo $! > left; echo done');
    assert.deepEqual([result.stdout, result.timedOut], ['done\n', false]);
    assert.equal((await box().exec('kill $(cat left) && echo ran')).stdout, 'ran\n');
  });

  it('keeps the first 10 MiB of an output and says that there was more', async () => {
    const result = await box().exec('head -c 11000000 /dev/zero | tr "\\0" x; echo end >&2');
    assert.deepEqual([result.stdout.length, result.truncated, result.stderr], [10_485_760, true, 'end\n']);
  });

  it('streams what a command writes while it runs', async () => {
    await box()
      .ask('deleteFile', { path: 'go', recursive: true })
      .catch(() => {});
    const events = box().events('execStream', {
      command: 'echo one; until test -e go; do sleep 0.01; done; echo two >&2; exit 5',
    });
    const seen: Fields[] = [];
    for await (const event of events) {
      seen.push(event);
      if (event['type'] === 'stdout') await box().write('go', '');
    }
    assert.equal(seen[0]!['type'], 'start');
    assert.equal(textOf(seen, 'stdout'), 'one\n');
    assert.equal(textOf(seen, 'stderr'), 'two\n');
    const { type, exitCode, success, timedOut } = seen.at(-1)!;
    assert.deepEqual(
      { type, exitCode, success, timedOut },
      { type: 'complete', exitCode: 5, success: false, timedOut: false },
    );
  });

  it('streams more output than it could hold', async () => {
    const events = box().events('execStream', {
      command: `yes | head -c ${streamedBytes}; echo x`,
    });
    let bytes = 0;
    for await (const event of events) bytes += String(event['data'] ?? '').length;
    assert.equal(bytes, streamedBytes + 2);
  });

  it('keeps variables for later commands and processes', async () => {
    await box().ask('setEnvVars', { variables: { LATER: 'kept' } });
    assert.equal((await box().exec('echo $LATER')).stdout, 'kept\n');
    assert.equal((await box().exec('echo $LATER', { env: { LATER: 'own' } })).stdout, 'own\n');
    await assert.rejects(box().ask('setEnvVars', { variables: { 'A=B': 'x' } }), { code: 'invalid_argument' });
  });

  it('refuses arguments that it cannot use, with the one that is wrong', async () => {
    for (const [operation, fields, message] of [
      ['exec', {}, /The command must be a string, but is undefined/],
      ['exec', { command: '' }, /must not be empty/],
      ['exec', { command: [] }, /must not be an empty list/],
      ['exec', { command: 'a\0b' }, /NUL/],
      ['exec', { command: 'true', timeoutMs: 'soon' }, /timeoutMs must be a whole number/],
      ['exec', { command: 'true', env: { A: 1 } }, /Variable A must be a string, but is number/],
      ['readFile', { path: 7 }, /The path must be a string, but is number/],
      ['killProcess', { id: '../x' }, /The id of a process/],
      ['waitForPort', { port: 0 }, /The port must be a whole number from 1 to 65535/],
    ] as const)
      await assert.rejects(box().ask(operation, fields), { code: 'invalid_argument', message });
  });

  it('keeps background processes with their output, and ends them', async () => {
    const started = await box().ask<Started>('startProcess', {
      command: 'echo up; exec sleep 4714',
      processId: 'server',
    });
    assert.deepEqual([started.id, started.status, started.exitCode], ['server', 'running', null]);
    await assert.rejects(box().ask('startProcess', { command: 'true', processId: 'server' }), {
      code: 'process_exists',
    });
    const seen = await until(box().events('streamProcessLogs', { id: 'server' }), ({ type }) => type === 'stdout');
    assert.equal(textOf(seen, 'stdout'), 'up\n');
    assert.deepEqual(await box().ask('getProcessLogs', { id: 'server' }), { logs: 'up\n', truncated: false });
    assert.deepEqual(
      (await box().ask<Started[]>('listProcesses')).map(({ id }) => id),
      ['server'],
    );
    await box().ask('killProcess', { id: 'server' });
    const ended = await box().ask<Started>('getProcess', { id: 'server' });
    assert.deepEqual([ended.status, ended.exitCode], ['failed', 143]);
    assert.equal(await box().ask('getProcess', { id: 'nobody' }), null);
    await assert.rejects(box().ask('killProcess', { id: 'nobody' }), { code: 'process_not_found' });
  });

  it('kills a process that ignores the signal to end', async () => {
    const sleep = `sleep ${ownSeconds(2)}`;
    const { id } = await box().ask<Started>('startProcess', {
      command: `trap "" TERM; echo deaf; while :; do ${sleep}; done`,
    });
    await until(box().events('streamProcessLogs', { id }), ({ type }) => type === 'stdout');
    await box().ask('killProcess', { id });
    assert.equal((await box().ask<Started>('getProcess', { id })).exitCode, 137);
    assert.equal((await box().exec(`${findProcess(sleep)} || echo none`)).stdout, 'none\n');
  });

  it('follows the output of a process to its end, and forgets the beginning of a long one', async () => {
    const { id } = await box().ask<Started>('startProcess', {
      command: 'head -c 3000000 /dev/zero | tr "\\0" x; echo end; exit 4',
    });
    const seen = await until(box().events('streamProcessLogs', { id }), ({ type }) => type === 'exit');
    assert.deepEqual(seen.at(-1), { type: 'exit', exitCode: 4 });
    const kept = await box().ask<{ logs: string; truncated: boolean }>('getProcessLogs', { id });
    assert.deepEqual([kept.truncated, kept.logs.length <= 1_048_576, kept.logs.endsWith('xend\n')], [true, true, true]);
  });

  it('connects to a port, both ways at once', async () => {
    const port = await freePort();
    const echo = `$s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => ${port}) or die; $c = $s->accept; $c = $s->accept; while (sysread($c, $b, 65536)) { syswrite($c, uc $b) }`;
    await box().ask('startProcess', { command: ['perl', '-MIO::Socket', '-e', echo], processId: 'echo' });
    await box().ask('waitForPort', { port });
    const { promise: more, resolve: goOn } = Promise.withResolvers<void>();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first');
      // The answer comes while the body goes on.
      await more;
      yield Buffer.from('second');
    }
    const answer = await box().raw('connect', { port }, body());
    assert.equal(answer.statusCode, 200);
    let seen = '';
    for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
      seen += chunk;
      if (seen === 'FIRST') goOn();
    }
    assert.equal(seen, 'FIRSTSECOND');
    const refused = await box().raw('connect', { port: await freePort() });
    assert.equal(refused.statusCode, 502);
    refused.destroy();
  });
}

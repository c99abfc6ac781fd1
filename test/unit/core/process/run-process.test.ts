// How processes of the platform start and end: their exit codes and what they log.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';

const module = path.resolve(import.meta.dirname, '../../../../core/process/run-process.ts');

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a `start` in a process of its own, and sends it these signals once it has printed `started`. */
async function run(start: string, signals: readonly NodeJS.Signals[] = [], options = '{}'): Promise<Ended> {
  const program = `import { runProcess } from ${JSON.stringify(module)};
    const say = (text) => process.stdout.write(text + '\\n');
    const log = { fatal: say, warn: (details, message) => say(message + ': ' + details.err.message) };
    await runProcess(log, ${start}, ${options});
    say('started');
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, [...nodeFlags, '--input-type=module-typescript', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  let isSent = false;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (isSent || !output.includes('started')) return;
    isSent = true;
    for (const signal of signals) child.kill(signal);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

test('it closes once, however many signals it gets', async () => {
  const start = `async () => async () => { say('closed'); await new Promise((resolve) => setImmediate(resolve)); }`;
  assert.deepEqual(await run(start, ['SIGTERM', 'SIGTERM', 'SIGINT']), { code: 0, output: 'started\nclosed\n' });
});

test('without a parent, SIGINT ends it', async () => {
  assert.deepEqual(await run(`async () => async () => say('closed')`, ['SIGINT']), {
    code: 0,
    output: 'started\nclosed\n',
  });
});

test('it can end itself', async () => {
  const start = `async ({ stop }) => { setImmediate(stop, 3); return async () => say('closed'); }`;
  assert.deepEqual(await run(start), { code: 3, output: 'started\nclosed\n' });
});

test('if it ends before it has started, it closes what is open so far, and drops the error of the start', async () => {
  const start = `async ({ stop, closeWith }) => {
    closeWith(async () => say('closed'));
    setImmediate(stop);
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('aborted');
  }`;
  assert.deepEqual(await run(start), { code: 0, output: 'closed\n' });
});

test('a process that obeys signals exits with 1 on the second one, without waiting', async () => {
  const start = `async () => () => new Promise(() => {})`;
  assert.deepEqual(await run(start, ['SIGTERM', 'SIGINT'], '{ obeysSignals: true }'), { code: 1, output: 'started\n' });
});

test('a process may log its failures and choose the exit code', async () => {
  const options = `{ onFailure(error) { say('not started: ' + error.message); return 7; } }`;
  assert.deepEqual(await run(`async () => { throw new Error('no port'); }`, [], options), {
    code: 7,
    output: 'not started: no port\n',
  });
});

test('a start that fails exits with 78, a close that fails with 0, both say why', async () => {
  assert.deepEqual(await run(`async () => { throw new Error('PORT is no number'); }`), {
    code: 78,
    output: 'PORT is no number\n',
  });
  assert.deepEqual(await run(`async () => async () => { throw new Error('away'); }`, ['SIGTERM']), {
    code: 0,
    output: 'started\nNot closed properly: away\n',
  });
});

test('a close that does not come to its end is not waited for beyond the limit', async () => {
  const start = `async () => () => new Promise(() => {})`;
  assert.deepEqual(await run(start, ['SIGTERM'], '{ closeMsMax: 50 }'), { code: 0, output: 'started\n' });
});

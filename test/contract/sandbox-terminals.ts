// Terminals in a sandbox, also of programs and callers that mean no good: part of the contract of backends
// (sandbox.ts).
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { text } from 'node:stream/consumers';
import {
  exitIn,
  TERMINAL_FRAME,
  terminalFrame,
  terminalFrames,
  type TerminalExit,
} from '#core/sandbox/terminal-frames.ts';
import { ownSeconds, findProcess, type Asker, type Fields } from './sandbox-asker.ts';

interface Opened {
  type(text: string): void;
  resize(cols: unknown, rows: unknown): void;
  /** Bytes that are no frame. */
  garble(): void;
  /** Nothing more is typed. */
  end(): void;
  /** Reads on until it has printed this; all that it printed so far. */
  until(wanted: string | RegExp): Promise<string>;
  /** Reads to the end. */
  rest(): Promise<{ printed: string; exit: TerminalExit | null }>;
  hangUp(): void;
}

async function open(box: Asker, fields: Fields): Promise<Opened> {
  const sent: Buffer[] = [terminalFrame(TERMINAL_FRAME.size, { cols: 80, rows: 24, ...fields })];
  let isOver = false;
  let wake = (): void => {};
  async function* body(): AsyncGenerator<Buffer> {
    for (;;) {
      while (sent.length > 0) yield sent.shift()!;
      if (isOver) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  const send = (bytes: Buffer): void => {
    sent.push(bytes);
    wake();
  };
  const gone = new AbortController();
  const answer = await box.raw('terminal', fields, body(), gone.signal);
  if (answer.statusCode !== 200) {
    const { error } = JSON.parse(await text(answer)) as { error: { code: string; message: string } };
    throw Object.assign(new Error(error.message), { code: error.code });
  }
  answer.on('error', () => {});
  const frames = terminalFrames(answer);
  let printed = '';
  let exit: TerminalExit | null = null;
  const more = async (): Promise<boolean> => {
    const { done, value } = await frames.next();
    if (done === true) return false;
    if (value.type === TERMINAL_FRAME.bytes) printed += Buffer.from(value.bytes).toString();
    if (value.type === TERMINAL_FRAME.exit) exit = exitIn(value);
    return true;
  };
  return {
    type: (typed) => send(terminalFrame(TERMINAL_FRAME.bytes, Buffer.from(typed))),
    resize: (cols, rows) => send(terminalFrame(TERMINAL_FRAME.size, { cols, rows })),
    garble: () => send(Buffer.from('\xff no frame', 'latin1')),
    end() {
      isOver = true;
      wake();
    },
    async until(wanted) {
      while (typeof wanted === 'string' ? !printed.includes(wanted) : !wanted.test(printed))
        assert.ok(await more(), `it ended after ${printed}`);
      return printed;
    },
    async rest() {
      while (await more()) continue;
      return { printed, exit };
    },
    hangUp: () => gone.abort(),
  };
}

/** @param box the machine that all of them use. */
export function testTerminals(box: () => Asker): void {
  /** Resolves when no process has this in its command line. */
  const ended = async (text: string): Promise<void> => {
    const look = `while ${findProcess(text)}; do sleep 0.05; done; echo ended`;
    assert.equal((await box().exec(look)).stdout, 'ended\n');
  };

  it('has a terminal with a login shell, of a size that changes, which Ctrl-C reaches', async () => {
    const terminal = await open(box(), { cols: 100, rows: 30, env: { ONE: '1' } });
    terminal.type('test -t 0 && echo is"-a-"terminal $TERM $ONE; stty size\r');
    await terminal.until(/is-a-terminal xterm-256color 1[^]*[\r\n]30 100\r\n/);
    for (let side = 1; side <= 1000; side++) terminal.resize(side, 1001 - side);
    // One program, which has the terminal from what it prints on.
    terminal.type(`sh -c 'stty size; echo be"-"gun; exec sleep 4720'\r`);
    await terminal.until(/[\r\n]1 1000\r\nbe-gun/);
    terminal.type('\x03');
    await terminal.until('^C');
    terminal.type('echo after"-"Ctrl-C; exit 7\r');
    const { printed, exit } = await terminal.rest();
    assert.match(printed, /after-Ctrl-C\r\n/);
    assert.deepEqual(exit, { exitCode: 7 });
  });

  it('says how a program in a terminal ended, and ends one that waits for input when there is no more', async () => {
    const killed = await open(box(), { command: ['sh', '-c', 'kill -9 $$'] });
    assert.deepEqual((await killed.rest()).exit, { exitCode: 137, signal: 'SIGKILL' });
    const missing = await open(box(), { command: ['no-such-program'] });
    assert.match((await missing.rest()).printed, /no-such-program: not found/);
    const reads = await open(box(), { command: 'cat; echo between; cat; exit 3' });
    reads.type('half a line');
    reads.end();
    const { printed, exit } = await reads.rest();
    assert.deepEqual([printed, exit], ['half a linehalf a linebetween\r\n', { exitCode: 3 }]);
  });

  it('has a program wait for whoever does not read, and ends it with its caller', async () => {
    const count = 'n=0; p=$(printf %4000s); while :; do n=$((n+1)); echo $n > count; echo "line $n of many$p"; done';
    const name = `terminal-${ownSeconds(4)}`;
    const terminal = await open(box(), { command: ['sh', '-c', count, name] });
    await terminal.until('line 10 of');
    const still = 'until a=$(cat count); sleep 0.3; test -n "$a" && test "$a" = "$(cat count)"; do :; done; echo waits';
    assert.equal((await box().exec(still)).stdout, 'waits\n');
    terminal.hangUp();
    await ended(name);
  });

  it('kills what ignores that its caller has gone, with all that it started', async () => {
    const [one, two, three] = [5, 6, 7].map(ownSeconds) as [string, string, string];
    const stubborn = `trap "" HUP TERM INT; setsid sleep ${one} & sleep ${two} & echo begun; while :; do sleep ${three}; done`;
    const terminal = await open(box(), { command: stubborn });
    await terminal.until('begun');
    terminal.hangUp();
    for (const seconds of [one, two, three]) await ended(seconds);
  });

  it('refuses terminals that there cannot be, and ends one whose caller sends what is no frame', async () => {
    for (const [fields, code, message] of [
      [{ cols: 0 }, 'invalid_argument', /cols must be a whole number from 1 to 1000/],
      [{ rows: 1001 }, 'invalid_argument', /rows must be a whole number from 1 to 1000/],
      [{ rows: '24' }, 'invalid_argument', /rows must be a whole number/],
      [{ command: '' }, 'invalid_argument', /must not be empty/],
      [{ cwd: 'no-such-folder' }, 'file_not_found', /no-such-folder/],
    ] as const)
      await assert.rejects(open(box(), fields), { code, message });
    const seconds = ownSeconds(8);
    for (const spoil of [(one: Opened) => one.garble(), (one: Opened) => one.resize(7, 0)]) {
      const terminal = await open(box(), { command: `echo begun; exec sleep ${seconds}` });
      await terminal.until('begun');
      spoil(terminal);
      await assert.rejects(terminal.rest());
    }
    await ended(seconds);
  });

  it('has a bound on how many there are at a time', async () => {
    const opened: Opened[] = [];
    const seconds = ownSeconds(9);
    await assert.rejects(
      async () => {
        for (let count = 0; count < 21; count++) opened.push(await open(box(), { command: `exec sleep ${seconds}` }));
      },
      { code: 'sandbox_limit', message: /Another open terminal would exceed 20/ },
    );
    for (const one of opened) one.hangUp();
    await ended(seconds);
  });
}

// A framework's own dev server as a process group: started, looked after, started again when it dies, and ended with
// everything it has started. session.ts has one; it runs the user's code with the user's Node.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { CliError } from '../../terminal/failure.ts';
import { portIn, toLines } from './lines.ts';
import { isListening } from './listening.ts';

/** What is told of it. */
export interface DevServerEvents {
  /** A line that it printed. */
  line(text: string, stream: 'out' | 'err'): void;
  /** It accepts connections. `first`: it has not done so before. */
  listening(first: boolean): void;
  /** It ended without being asked. */
  died(death: { readonly how: string; readonly advice: string | null; readonly pauseMs: number }): void;
  /** It runs, but has not listened where it was told to for a while. */
  silent(silence: { readonly ms: number; readonly otherPort: number | null }): void;
}

interface DevServerParts {
  /** For `sh -c`. */
  readonly command: string;
  readonly folder: string;
  /** Where it is to listen. */
  readonly host: string;
  readonly port: number;
  /** Read with each start. */
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  readonly events: DevServerEvents;
  readonly times?: DevServerTimes;
}

/** Milliseconds. */
export interface DevServerTimes {
  /** Between looks at the port. */
  readonly look: number;
  /** Until somebody is told that it does not listen. */
  readonly silent: number;
  /** Between its death and its next start: the first one, doubled with each, and the longest. */
  readonly pause: number;
  readonly pauseMax: number;
  /** Whoever ran for so long died of something new. */
  readonly steady: number;
  /** For it to end once it is asked to. */
  readonly end: number;
}

const TIMES: DevServerTimes = {
  look: 100,
  silent: 30_000,
  pause: 1000,
  pauseMax: 30_000,
  steady: 30_000,
  end: 3000,
};
/** How long output is waited for behind its end. */
const LAST_OUTPUT_MS = 300;

/** A dev server that is looked after. */
export interface DevServer {
  /** Ends it and starts it again; also one that is dead, at once. */
  restart(): void;
  /** Starts it soon where it is dead: a file has changed. */
  retry(): void;
  /** Ends it. Resolves when nothing of it runs any more. */
  close(): Promise<void>;
}

/** @throws {CliError} where another program has its port. */
export async function startDevServer(parts: DevServerParts): Promise<DevServer> {
  const { command, folder, host, port, environment, events, times = TIMES } = parts;
  if (await isListening(host, port)) throw taken(host, port);
  let child: ChildProcess | null = null;
  let closed = false;
  let asked = false;
  let everListened = false;
  let deaths = 0;
  let wake = (): void => {};

  // A second Ctrl-C ends this process without waiting.
  const onExit = (): void => signalGroup(child, 'SIGKILL');
  process.once('exit', onExit);

  const run = async (): Promise<void> => {
    asked = false;
    const began = performance.now();
    child = spawn('sh', ['-c', command], {
      cwd: folder,
      env: { ...environment(), PORT: String(port), HOST: host },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, to be ended as a whole.
      detached: true,
    });
    const running = child;
    let otherPort: number | null = null;
    const stopLines = [running.stdout!, running.stderr!].map((stream, at) =>
      toLines(stream, (text) => {
        const said = portIn(text);
        if (said !== null && said !== port) otherPort = said;
        events.line(text, at === 0 ? 'out' : 'err');
      }),
    );
    let ended = false;
    let listened = false;
    const look = async (): Promise<void> => {
      let isTold = false;
      while (!ended) {
        if (await isListening(host, port)) {
          if (ended) return;
          listened = true;
          events.listening(!everListened);
          everListened = true;
          return;
        }
        const ms = performance.now() - began;
        if (!isTold && !ended && ms >= times.silent) {
          isTold = true;
          events.silent({ ms, otherPort });
        }
        await pause(times.look);
      }
    };
    const looking = look();
    const outputEnd = Promise.all([once(running.stdout!, 'close'), once(running.stderr!, 'close')]).catch(() => {});
    const how = await endOf(running);
    ended = true;
    // What it has started would keep its port.
    signalGroup(running, 'SIGKILL');
    await Promise.race([outputEnd, pause(LAST_OUTPUT_MS)]);
    for (const stop of stopLines) stop();
    await looking;
    // What was killed closes its files one by one: its port may be the last of them.
    for (const end = performance.now() + LAST_OUTPUT_MS; listened && performance.now() < end; await pause(1))
      if (!(await isListening(host, port))) break;
    child = null;
    if (closed || asked) return;
    deaths = listened && performance.now() - began >= times.steady ? 1 : deaths + 1;
    const pauseMs = Math.min(times.pause * 2 ** (deaths - 1), times.pauseMax);
    events.died({ how, advice: adviceFor(how), pauseMs });
    const isWoken = await new Promise<boolean>((resolve) => {
      const over = setTimeout(() => resolve(false), pauseMs);
      wake = () => {
        clearTimeout(over);
        resolve(true);
      };
    });
    wake = () => {};
    // It may have written that file itself.
    if (isWoken && !closed && !asked) await pause(times.pause);
  };
  const stop = async (): Promise<void> => {
    const running = child;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, 'exit');
    signalGroup(running, 'SIGTERM');
    const late = setTimeout(() => signalGroup(running, 'SIGKILL'), times.end);
    await exited;
    clearTimeout(late);
  };

  const loop = (async () => {
    while (!closed) await run();
  })();
  return {
    restart() {
      asked = true;
      deaths = 0;
      wake();
      void stop();
    },
    retry: () => wake(),
    async close() {
      closed = true;
      wake();
      await stop();
      await loop;
      process.off('exit', onExit);
    },
  };
}

/** How a process ended, in words. */
async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  } catch (error) {
    return `cannot be started: ${(error as Error).message}`;
  }
}

/** The shell's words for a program that it did not find. */
function adviceFor(how: string): string | null {
  return how === 'ended with exit code 127' ? 'Its program was not found: are the dependencies installed?' : null;
}

function signalGroup(child: ChildProcess | null, signal: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Its group is gone already.
  }
}

function taken(host: string, port: number): CliError {
  return new CliError(`Port ${port} of ${host} is taken by another program`, {
    advice: `Stop that program, or choose another port: --port ${port < 65_535 ? port + 1 : 3000}`,
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

// Supervises a framework's dev server as a process group: starts it, restarts it after a crash, and stops it with all
// its children. Used by session.ts; runs the user's code with the user's Node.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { CliError } from '../../terminal/failure.ts';
import { portIn, toLines } from './lines.ts';
import { isListening } from './listening.ts';

/** Events of the dev server. */
export interface DevServerEvents {
  /** A printed line. */
  line(text: string, stream: 'out' | 'err'): void;
  /** The server accepts connections. @param first whether it does so for the first time. */
  listening(first: boolean): void;
  /** The server exited unexpectedly. */
  died(death: { readonly how: string; readonly advice: string | null; readonly pauseMs: number }): void;
  /** The server runs, but does not listen on the expected port. */
  silent(silence: { readonly ms: number; readonly otherPort: number | null }): void;
}

interface DevServerDeps {
  /** For `sh -c`. */
  readonly command: string;
  readonly folder: string;
  /** Host to listen on. */
  readonly host: string;
  readonly port: number;
  /** The function that reads the variables, before each start. */
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  readonly events: DevServerEvents;
  readonly times?: DevServerTimes;
}

/** Milliseconds. */
interface DevServerTimes {
  /** Interval of port checks. */
  readonly look: number;
  /** How long the server may take to listen before the event `silent` is reported. */
  readonly silent: number;
  /** Restart delay after a crash, doubled each time up to a maximum. */
  readonly pause: number;
  readonly pauseMax: number;
  /** Uptime after which the restart delay is reset. */
  readonly steady: number;
  /** How long the server has to exit before it is killed. */
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
/** Wait for remaining output after the exit. */
const LAST_OUTPUT_MS = 300;

/** A supervised dev server. */
export interface DevServer {
  /** Restarts the server immediately, even if it has crashed. */
  restart(): void;
  /** Restarts a crashed server soon, because a file has changed. */
  retry(): void;
  /** Stops the server. Resolves when all its processes have exited. */
  close(): Promise<void>;
}

/** @throws {CliError} if the port is in use. */
export async function startDevServer(deps: DevServerDeps): Promise<DevServer> {
  const { command, folder, host, port, environment, events, times = TIMES } = deps;
  if (await isListening(host, port)) throw taken(host, port);
  let child: ChildProcess | null = null;
  let closed = false;
  let asked = false;
  let everListened = false;
  let deaths = 0;
  let wake = (): void => {};

  // If a second Ctrl-C ends this process immediately, the server must end too.
  const onExit = (): void => signalGroup(child, 'SIGKILL');
  process.once('exit', onExit);

  const run = async (): Promise<void> => {
    asked = false;
    const began = performance.now();
    child = spawn('sh', ['-c', command], {
      cwd: folder,
      env: { ...environment(), PORT: String(port), HOST: host },
      stdio: ['ignore', 'pipe', 'pipe'],
      // The server has its own process group, so that it can be killed with all its children.
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
    // Processes that the server started may be left, and would keep the port.
    signalGroup(running, 'SIGKILL');
    await Promise.race([outputEnd, pause(LAST_OUTPUT_MS)]);
    for (const stop of stopLines) stop();
    await looking;
    // The port of a killed process may stay open for a moment.
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
    // The server may have written the changed file itself, so wait before the restart.
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

/** Exit of a process as text. */
async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    return signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
  } catch (error) {
    return `could not be started: ${(error as Error).message}`;
  }
}

/** Advice for the shell's exit code of a missing program. */
function adviceFor(how: string): string | null {
  return how === 'exited with code 127'
    ? 'The program of the command was not found: are the dependencies installed?'
    : null;
}

function signalGroup(child: ChildProcess | null, signal: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // All processes of the group have already exited.
  }
}

function taken(host: string, port: number): CliError {
  return new CliError(`Port ${port} of ${host} is already in use`, {
    advice: `Stop that program, or choose another port: --port ${port < 65_535 ? port + 1 : 3000}`,
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

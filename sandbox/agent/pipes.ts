// Standard streams for commands, which commands.ts starts. Node gives a child socket pairs, which programs cannot open
// by name: `echo text > /dev/stderr` fails. Therefore output uses pipes that have a name until both ends are open, and
// input is an unnamed file.
import { execFile } from 'node:child_process';
import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';

/** Streams of one command. */
interface StandardStreams {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The child's ends; `ignore`: no input. */
  readonly stdio: readonly ['ignore' | number, number, number];
  /**
   * Closes the ends of the pipes that belong to the child in this process, so that readers of the output get its end.
   */
  given(): void;
}

export interface Pipes {
  /**
   * @param input the command's input, or null.
   * @returns null if pipes cannot be created: `mkfifo` is missing, or the temporary folder is full.
   */
  take(input: Uint8Array | null): Promise<StandardStreams | null>;
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
/**
 * Node cannot create FIFOs, and starting mkfifo is slow: creating all of them takes 4 ms, while a single one takes 3
 * ms.
 */
const NAMES_AT_ONCE = 64;
const NAMES_LEAST = 16;
const MAKE_MS = 5000;
/** The temporary folder may have been emptied. */
const TRIES = 2;
/** Prefix of the folder, with the owner's identity: a process id alone is reused when a machine restarts. */
const OWN_PREFIX = `platform-pipes-${process.pid}-${Math.floor(performance.timeOrigin)}-`;
const ANY_PREFIX = /^platform-pipes-(\d+)-\d+-/;

export function createPipes(): Pipes {
  let folder: string | null = null;
  let names: string[] = [];
  let made = 0;
  let making: Promise<boolean> | null = null;
  const nextName = (): string => path.join((folder ??= mkdtempSync(path.join(tmpdir(), OWN_PREFIX))), `${++made}`);
  const drop = (): void => {
    // mkfifo may still be creating names in the folder.
    if (folder !== null) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    folder = null;
    names = [];
  };
  process.once('exit', drop);

  /** Creates more FIFOs. False: not possible. */
  const make = (): Promise<boolean> =>
    (making ??= new Promise<boolean>((resolve) => {
      let fresh: string[];
      try {
        fresh = Array.from({ length: NAMES_AT_ONCE }, nextName);
      } catch {
        return resolve(false);
      }
      execFile('mkfifo', ['-m', '600', ...fresh], { timeout: MAKE_MS }, (error) => {
        if (error === null) names.push(...fresh);
        resolve(error === null);
      });
    }).finally(() => {
      making = null;
    }));

  function open(input: Uint8Array | null): StandardStreams {
    const opened: number[] = [];
    const keep = (name: string, flags: number): number => {
      const fd = openSync(name, flags);
      opened.push(fd);
      return fd;
    };
    const pipe = (): { reads: number; writes: number } => {
      const name = names.pop()!;
      // This end is opened first, because opening the other end waits for it. The end for the program is blocking, as
      // programs expect.
      const reads = keep(name, O_RDONLY | O_NONBLOCK);
      const writes = keep(name, O_WRONLY);
      unlinkSync(name);
      return { reads, writes };
    };
    const file = (bytes: Uint8Array): number => {
      const name = nextName();
      try {
        writeFileSync(name, bytes, { mode: 0o600, flag: 'wx' });
        return keep(name, O_RDONLY);
      } finally {
        rmSync(name, { force: true });
      }
    };
    try {
      const stdin = input === null ? 'ignore' : file(input);
      const [out, err] = [pipe(), pipe()];
      const read = (fd: number): Readable => new Socket({ fd, readable: true, writable: false });
      const stdio = [stdin, out.writes, err.writes] as const;
      return {
        stdout: read(out.reads),
        stderr: read(err.reads),
        stdio,
        given() {
          for (const fd of stdio) if (fd !== 'ignore') closeSync(fd);
        },
      };
    } catch (error) {
      for (const fd of opened) closeSync(fd);
      throw error;
    }
  }

  sweep();
  // Created in advance, so that the first command does not wait.
  void make();
  return {
    async take(input) {
      for (let attempt = 1; attempt <= TRIES; attempt++) {
        // Concurrent callers may take the FIFOs just created.
        while (names.length < 2) if (!(await make())) return null;
        try {
          return open(input);
        } catch {
          drop();
        } finally {
          if (names.length < NAMES_LEAST) void make();
        }
      }
      return null;
    },
  };
}

/** Removes the folders of agents that were killed. */
function sweep(): void {
  try {
    for (const name of readdirSync(tmpdir())) {
      const pid = ANY_PREFIX.exec(name)?.[1];
      if (pid === undefined || name.startsWith(OWN_PREFIX) || (Number(pid) !== process.pid && isRunning(Number(pid))))
        continue;
      const folder = path.join(tmpdir(), name);
      // A folder of another user could be swapped during the removal.
      if (lstatSync(folder).uid === process.getuid?.()) rmSync(folder, { recursive: true, force: true });
    }
  } catch {
    // Another agent removes the folder at the same time, or there is no temporary folder: commands report that.
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

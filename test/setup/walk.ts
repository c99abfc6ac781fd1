// A new user in a home of their own, with a copy of the repository: types lines into a shell as they stand in the
// documentation. For test/e2e: the user may be another one than ours, and the Node in the PATH another version.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { root } from '#cli/tasks/tools/processes.ts';
import { npmSettings } from '#test/setup/npm-settings.ts';

/** Who walks. */
interface WalkOptions {
  /** Null: the user of the test. */
  readonly uid: number | null;
  /** Folder of the `node` that comes first in the PATH; null: as it is. */
  readonly node: string | null;
  /** Whether `node_modules` is there already, by links: `npm ci` is not typed then. */
  readonly installed: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

/** A command that goes on. */
export interface Going {
  readonly output: string;
  /** Resolves when it has printed a match, behind what the last call found. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends SIGTERM to what was typed, and resolves when it and all below it are gone. */
  stop(): Promise<void>;
}

/** A walk. */
export interface Walk {
  /** Home, in which everything lies. */
  readonly home: string;
  /** The copy of the repository. */
  readonly clone: string;
  /** Where the shell is; `cd` of a line goes on from there. */
  folder: string;
  /** Types a line and waits for its end. @returns what it printed. @throws {Error} with that when it fails. */
  type(line: string, input?: string): Promise<string>;
  /** Types a line that goes on, and waits until it has printed a match. */
  begin(line: string, pattern: RegExp): Promise<Going>;
  write(file: string, text: string): void;
  end(): Promise<void>;
}

const LINE_MS_MAX = 150_000;

export async function startWalk({ uid, node, installed, environment }: WalkOptions): Promise<Walk> {
  const base = mkdtempSync(path.join(tmpdir(), 'walk-'));
  chmodSync(base, 0o755);
  const home = path.join(base, 'home');
  const clone = path.join(home, 'platform');
  mkdirSync(clone, { recursive: true });
  // What Git would clone, with what is not committed yet.
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const file of files.split('\0').filter((name) => name !== '' && existsSync(path.join(root, name)))) {
    mkdirSync(path.dirname(path.join(clone, file)), { recursive: true });
    copyFileSync(path.join(root, file), path.join(clone, file));
  }
  // Only its owner may enter: /root is like that.
  chmodSync(home, 0o700);
  if (uid !== null)
    for (const name of ['.', ...readdirSync(home, { recursive: true, encoding: 'utf8' })])
      chownSync(path.join(home, name), uid, uid);
  if (installed) execFileSync('cp', ['-al', path.join(root, 'node_modules'), path.join(clone, 'node_modules')]);
  const bin = path.join(base, 'bin');
  if (node !== null) {
    mkdirSync(bin);
    const binary = path.join(node, 'node');
    try {
      linkSync(binary, path.join(bin, 'node'));
    } catch {
      copyFileSync(binary, path.join(bin, 'node'));
    }
  }
  // What this machine's npm is set up with is not the user's to know.
  const passed = Object.entries(process.env).filter(([name]) =>
    /^(?:NODE_EXTRA_CA_CERTS|(?:https?|no)_proxy)$/i.test(name),
  );
  const env: NodeJS.ProcessEnv = {
    PATH: node === null ? process.env['PATH'] : `${bin}:${process.env['PATH']}`,
    HOME: home,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    npm_config_update_notifier: 'false',
    npm_config_prefer_offline: 'true',
    // Walks run at the same time.
    API_PORT: '0',
    UI_PORT: '0',
    DOCS_PORT: '0',
    ...Object.fromEntries(passed),
    ...npmSettings('registry', 'cafile', ...(uid === null ? ['cache'] : [])),
    ...environment,
  };
  const going = new Set<ChildProcess>();
  const walk: Walk = {
    home,
    clone,
    folder: clone,
    async type(line, input = '') {
      const to = /^cd (\S+)$/.exec(line)?.[1];
      if (to !== undefined) {
        walk.folder = path.resolve(walk.folder, to);
        return '';
      }
      const child = open(line);
      child.stdin!.end(input);
      let output = '';
      for (const stream of [child.stdout!, child.stderr!])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const late = setTimeout(() => child.kill('SIGKILL'), LINE_MS_MAX);
      const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
      clearTimeout(late);
      going.delete(child);
      if (code !== 0) throw new Error(`${line}: ${code ?? signal}\n${output}`);
      return output;
    },
    async begin(line, pattern) {
      const child = open(line);
      const { folder } = walk;
      let output = '';
      let read = 0;
      let code: number | null = null;
      for (const stream of [child.stdout!, child.stderr!])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.on('exit', (ended) => (code = ended ?? -1));
      const printed = (wanted: RegExp): Promise<RegExpExecArray> =>
        within(() => {
          const found = wanted.exec(output.slice(read));
          if (found !== null) read += found.index + found[0].length;
          else if (code !== null) throw new Error(`${line} ended with ${code}:\n${output}`);
          return found;
        }, LINE_MS_MAX);
      await printed(pattern);
      return {
        get output() {
          return output;
        },
        printed,
        async stop() {
          child.kill('SIGTERM');
          if (code === null) await once(child, 'exit');
          going.delete(child);
          await within(() => (programsOf(folder).length === 0 ? true : null), 20_000).catch(() => {
            throw new Error(
              `${line} was asked to end, and left behind: ${programsOf(folder)
                .map(([, words]) => words)
                .join('; ')}`,
            );
          });
        },
      };
    },
    write(file, text) {
      const target = path.join(walk.folder, file);
      const made = mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text);
      if (uid !== null) for (const one of [...(made === undefined ? [] : [made]), target]) chownSync(one, uid, uid);
    },
    async end() {
      for (const child of going) child.kill('SIGTERM');
      for (const [pid] of programsOf(base)) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // Gone meanwhile.
        }
      }
      await within(() => (programsOf(base).length === 0 ? true : null), 10_000);
      rmSync(base, { recursive: true, force: true, maxRetries: 5 });
    },
  };

  function open(line: string): ChildProcess {
    // As a shell that gives its place to the one command it was told.
    const child = spawn('sh', ['-c', `umask 022; exec ${line}`], {
      cwd: walk.folder,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(uid !== null && { uid, gid: uid }),
    });
    going.add(child);
    child.stdin!.on('error', () => {});
    return child;
  }
  return walk;
}

/** Resolves with what a look finds, once that is something. @throws {Error} when that takes too long. */
export async function within<Found>(look: () => Found | null | Promise<Found | null>, waitMs: number): Promise<Found> {
  for (const end = performance.now() + waitMs; performance.now() < end; await pause(25)) {
    const found = await look();
    if (found !== null) return found;
  }
  throw new Error(`Nothing came within ${waitMs / 1000} s`);
}

/** Processes that have to do with a folder: by their words, where they are, or their environment. */
function programsOf(folder: string): [pid: number, words: string][] {
  return readdirSync('/proc').flatMap((name): [number, string][] => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      if (words === '') return [];
      const place = [words, readlinkSync(`/proc/${name}/cwd`), readFileSync(`/proc/${name}/environ`, 'utf8')];
      return place.some((text) => text.includes(folder)) ? [[Number(name), words]] : [];
    } catch {
      return [];
    }
  });
}

// An app as its author has it on a disk: a copy of its folder in a temporary one, installed by its lockfile, with the
// packages of this repository where it names them, and the program `platform` in it.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { emitPackage } from '#cli/tasks/pack.ts';
import { root, runProgram } from '#cli/tasks/tools/processes.ts';
import { npmSettings } from '#test/setup/npm-settings.ts';
import { folderOf, type Row } from './row.ts';

const apps = path.join(import.meta.dirname, 'apps');
const launcher = path.join(root, 'cli/run.mjs');
const STEP_MS_MAX = 400_000;
/** Of what a step printed, in its error. */
const CHARACTERS_SHOWN = 1500;

/** The copy. */
export interface Project {
  readonly folder: string;
  readonly name: string;
  /** Runs `platform`. @returns what it printed, and how long it took. @throws {Error} with what it printed. */
  platform(...words: string[]): Promise<{ readonly output: string; readonly wallMs: number }>;
  /** Starts `platform`, which goes on. */
  begin(...words: string[]): Going;
  read(file: string): string;
  write(file: string, text: string): void;
}

/** A command that goes on, in a process group of its own. */
export interface Going {
  readonly output: () => string;
  readonly ended: () => boolean;
  stop(): Promise<void>;
}

/** The version that the lockfile of an app pins. */
export function versionOf({ shows, ...row }: Row): string {
  const lock = JSON.parse(readFileSync(path.join(apps, folderOf(row), 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string } | undefined>;
  };
  return lock.packages[`node_modules/${shows}`]?.version ?? 'not in the lockfile';
}

/**
 * Copies and installs an app.
 *
 * @param folder an empty one
 * @param environment of the program: which platform is meant.
 */
export async function makeProject(row: Row, folder: string, environment: NodeJS.ProcessEnv): Promise<Project> {
  cpSync(path.join(apps, folderOf(row)), folder, { recursive: true });
  for (const [file, text] of Object.entries(row.writes ?? {})) writeFileSync(path.join(folder, file), text);
  const env: NodeJS.ProcessEnv = {
    ...environment,
    ...npmSettings('registry', 'cafile'),
    // The Node that frameworks run on, and the program that packages of ours look for.
    PATH: `${path.dirname(process.execPath)}:${environment['PATH']}`,
    PLATFORM_CLI: launcher,
    NODE_COMPILE_CACHE: undefined,
    // Those that a framework would send elsewhere.
    ASTRO_TELEMETRY_DISABLED: '1',
    NEXT_TELEMETRY_DISABLED: '1',
    NUXT_TELEMETRY_DISABLED: '1',
    NG_CLI_ANALYTICS: 'false',
    npm_config_update_notifier: 'false',
  };
  const run = async (program: string, words: readonly string[]) => {
    const ended = await Promise.race([
      runProgram(program, words, { cwd: folder, env }),
      new Promise<never>((_, reject) =>
        setTimeout(
          () => reject(new Error(`${words.join(' ')} took over ${STEP_MS_MAX / 1000} s`)),
          STEP_MS_MAX,
        ).unref(),
      ),
    ]);
    if (ended.code !== 0) throw new Error(ended.output.trim().slice(-CHARACTERS_SHOWN));
    return ended;
  };
  const install = ['ci', '--no-audit', '--no-fund'];
  // What npm keeps may be older than a version of the lockfile.
  await run('npm', [...install, '--prefer-offline']).catch(() => run('npm', install));
  for (const name of row.packages ?? []) await addPackage(folder, name);
  return {
    folder,
    name: row.app,
    platform: (...words) => run(process.execPath, [launcher, ...words]),
    begin: (...words) => begin(folder, env, words),
    read: (file) => readFileSync(path.join(folder, file), 'utf8'),
    write(file, text) {
      // At once, as editors save: SolidStart takes a file that is still empty for no page any more.
      const written = `${folder}.edited`;
      writeFileSync(written, text);
      renameSync(written, path.join(folder, file));
    },
  };
}

/** As `npm install @platform-run/<name>` would: what `npm run pack` packs, and the line in package.json. */
export async function addPackage(folder: string, name: string): Promise<void> {
  const target = path.join(folder, 'node_modules/@platform-run', name);
  mkdirSync(path.dirname(target), { recursive: true });
  cpSync(path.join(root, 'packages', name), target, {
    recursive: true,
    filter: (from) => !/\/node_modules(?:\/|$)|\.test\.ts$/.test(from.slice(root.length)),
  });
  await emitPackage(target);
  linkDependencies(target);
  const file = path.join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { devDependencies?: Record<string, string> };
  const { version } = JSON.parse(readFileSync(path.join(target, 'package.json'), 'utf8')) as { version: string };
  manifest.devDependencies = { ...manifest.devDependencies, [`@platform-run/${name}`]: version };
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** What a package of ours depends on is in the checkout, by the same version. */
function linkDependencies(target: string): void {
  const { dependencies = {} } = JSON.parse(readFileSync(path.join(target, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    const link = path.join(target, 'node_modules', name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(root, 'node_modules', name), link);
  }
}

function begin(folder: string, env: NodeJS.ProcessEnv, words: readonly string[]): Going {
  const child: ChildProcess = spawn(process.execPath, [launcher, ...words], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)));
  const exited = once(child, 'exit');
  return {
    output: () => output.slice(-CHARACTERS_SHOWN),
    ended: () => child.exitCode !== null || child.signalCode !== null,
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(late);
      // What it left behind would hold its port.
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {
        // Nothing.
      }
    },
  };
}

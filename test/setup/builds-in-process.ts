// Builds without a process of the platform's own: commands run as the user of the test, with a stand-in for npm, and
// the program that bundles runs in this process. test/contract/build-commands.ts and test/setup/build-cases.ts hold it
// to what confined processes and the real npm do.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { runJob, type ChildJob } from '#builder/steps/child.ts';
import { CHILD } from '#builder/steps/own-folders.ts';
import { foldersIn } from '#builder/steps/build-folders.ts';
import type { OpenFence, Fence, FencedCommand, FencedExit } from '#builder/steps/fence.ts';
import { unconfined } from '#core/process/confinement/confinement.ts';
import type { BuildCase } from './build-cases.ts';
import { buildIn, openBuildPlace } from './confined-builds.ts';

const NPM = join(import.meta.dirname, '../fixtures/fake-npm.mjs');

export const openInProcess: OpenFence = async ({ workFolder, signal }) => {
  const folders = foldersIn(workFolder);
  const programs = join(workFolder, 'programs');
  for (const folder of [...Object.values(folders), programs]) await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(programs, 'npm'), `#!/bin/sh\nexec '${process.execPath}' '${NPM}' "$@"\n`);
  await chmod(join(programs, 'npm'), 0o755);

  async function run(command: FencedCommand): Promise<FencedExit> {
    signal.throwIfAborted();
    const env = { ...command.env, PATH: `${programs}:${command.env['PATH'] ?? ''}` };
    if (command.words.at(-1) === CHILD) return runProgram({ ...command, env });
    return runCommand({ ...command, env }, signal);
  }

  return {
    folders,
    uid: null,
    outbound: null,
    run,
    giveAway: async () => {},
    close: async () => {
      for (const folder of [...Object.values(folders), programs]) await rm(folder, { recursive: true, force: true });
    },
  } satisfies Fence;
};

/** Builds so, from a tree of sources. */
export const inProcess: BuildCase = {
  open: (t) => openBuildPlace(t, false),
  build: (place, wishes) => buildIn(place, unconfined, wishes, openInProcess),
};

async function runProgram({ env, input, onOutput, onReport }: FencedCommand): Promise<FencedExit> {
  let stdout = '';
  const code = await runJob(JSON.parse(input!) as ChildJob, {
    environment: env,
    write(text) {
      if (onOutput === undefined) stdout += text;
      else onOutput(Buffer.from(text), false);
    },
    report: (line) => onReport?.(Buffer.from(`${JSON.stringify(line)}\n`)),
  });
  return { code, signal: null, stdout, stderr: '' };
}

async function runCommand(command: FencedCommand, signal: AbortSignal): Promise<FencedExit> {
  const { words, cwd, env, input, onOutput, onReport, read } = command;
  const child = spawn(words[0]!, words.slice(1), {
    cwd,
    env,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', onReport === undefined ? 'ignore' : 'pipe'],
  });
  let ending: unknown = null;
  const kill = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  };
  const end = (why: unknown): void => {
    ending ??= why;
    kill();
  };
  const abort = (): void => end(signal.reason);
  signal.addEventListener('abort', abort);
  if (input !== undefined) child.stdin!.on('error', () => {}).end(input);
  const report = child.stdio[3] as Readable | null;
  if (onReport !== undefined) report!.on('data', onReport);
  const reported = report === null ? null : once(report, 'close');
  const take = async (stream: Readable, isError: boolean): Promise<string> => {
    if (onOutput === undefined) return (await buffer(stream)).toString('utf8');
    for await (const chunk of stream) onOutput(chunk as Buffer, isError);
    return '';
  };
  const texts = Promise.all([
    read === undefined ? take(child.stdout!, false) : read(child.stdout!).then(() => '', end),
    take(child.stderr!, true),
    reported,
  ]);
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // What it left running goes, and only then are its pipes at their end.
  kill();
  const [stdout, stderr] = await texts;
  signal.removeEventListener('abort', abort);
  if (ending !== null) throw ending;
  return { code, signal: killedBy, stdout: stdout ?? '', stderr };
}

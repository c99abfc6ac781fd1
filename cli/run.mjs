#!/usr/bin/env -S node --
// The launcher behind `platform` and every npm script: finds Node 24 and starts it. Programs that run isolates get the
// flags of node-flags.mjs. Plain JavaScript for Node >= 20, no dependency. A word that begins with `:` is a task of the
// repository (cli/tasks/). After `--`, Node does not interpret a word as its own flag, such as `--env-file`.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { constants, homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '#core/node-flags.mjs';

const self = fileURLToPath(import.meta.url);
/**
 * Only commands that run isolates, and tasks of the repository, get the flags. Other commands start faster without
 * them.
 */
const flags = /^(?:dev|vite|:.*)$/.test(process.argv[2] ?? '') ? nodeFlags : [];
/** The compile cache is written shortly after the start, since a killed process writes none. */
const KEEP_AFTER_MS = 5000;

// `npx` sends signals only to the shell in between, which exits without stopping this process.
if (process.env.npm_command === 'exec') {
  const { ppid } = process;
  setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGTERM'), 250).unref();
}

if (isNode24() && flags.every((flag) => process.execArgv.includes(flag))) {
  await handOver(process.argv.slice(2));
} else {
  startAgain(findNode24());
}

function isNode24() {
  return Number(process.versions.node.split('.')[0]) === 24;
}

/**
 * The Node 24 to use: the running program, else the binary of the optional dependency. Does not rely on `bin` links,
 * which an install script creates.
 */
function findNode24() {
  if (isNode24()) return process.execPath;
  const name = `node-${process.platform}-${process.arch}`;
  try {
    const binary = path.join(path.dirname(createRequire(self).resolve(`${name}/package.json`)), 'bin', 'node');
    if (existsSync(binary)) return binary;
  } catch {
    // The package is not installed. The error for that follows.
  }
  const packaged = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64');
  process.stderr.write(
    `platform: this runs on Node 24, but you have ${process.version} and the package ${name} is not installed.\n` +
      (packaged
        ? 'Install again with optional dependencies (npm install --include=optional), or install Node 24.\n'
        : 'Install Node 24 and start again.\n'),
  );
  process.exit(1);
}

/**
 * Runs this file with the right Node, replacing this process if possible. If it is not replaced, the child process
 * notices by the IPC channel when the launcher exits.
 */
function startAgain(binary) {
  const words = [...flags, '--', self, ...process.argv.slice(2)];
  // The process is not replaced if its parent has an IPC channel to it, which would be lost, or if a custom loader runs
  // Node (core/process/node-command.ts).
  if (process.execve !== undefined && process.channel === undefined && !/^ld[-.]/.test(path.basename(binary)))
    process.execve(binary, [binary, ...words]);
  const child = spawn(binary, words, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => child.kill(signal));
  // A terminal sends Ctrl-C to both processes; otherwise only this process receives the signal.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  child.on('error', (error) => {
    process.stderr.write(`platform: ${binary} could not be started: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
}

/**
 * Enables Node's compile cache, in the folder of core/process/cache-folder.ts. Without the compile cache, each process
 * compiles the sources, and in the repository loads the TypeScript compiler. The folder must not be writable by others.
 *
 * @returns the folder; null if there is no trusted folder, or NODE_COMPILE_CACHE is set.
 */
function keepCompiled() {
  if (process.env.NODE_COMPILE_CACHE) return null;
  const folder =
    process.env.PLATFORM_CACHE_DIR ||
    path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'platform');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return null;
    const kept = path.join(folder, 'node');
    nodeModule.enableCompileCache(kept);
    return kept;
  } catch {
    // Without a cache folder, the program works, but starts more slowly.
    return null;
  }
}

async function handOver(words) {
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  }
  // `platform ... | head` closes the pipe early, which is not an error.
  process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const first = words[0] ?? '';
  if (!first.startsWith(':')) {
    const kept = keepCompiled();
    // Only the child processes of `start` inherit the cache, because they run the platform's own code.
    if (first === 'start' && kept !== null) process.env.NODE_COMPILE_CACHE = kept;
    else setTimeout(nodeModule.flushCompileCache, KEEP_AFTER_MS).unref();
  }
  const { run } = await import(first.startsWith(':') ? task(first.slice(1)) : source('./main'));
  process.exitCode = await run(first.startsWith(':') ? words.slice(1) : words);
}

function task(name) {
  const file = `./tasks/${name}.ts`;
  if (/^[a-z]+$/.test(name) && existsSync(new URL(file, import.meta.url))) return file;
  process.stderr.write(`platform: there is no task ":${name}" (tasks exist only in the repository: cli/tasks/)\n`);
  process.exit(2);
}

/** TypeScript in the repository, JavaScript once packed. */
function source(base) {
  return existsSync(new URL(`${base}.ts`, import.meta.url)) ? `${base}.ts` : `${base}.js`;
}

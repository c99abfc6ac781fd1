// How to start a child process with this Node. `process.execPath` is the dynamic loader if Node runs under another C
// library than the system's (.ci/with-new-glibc): the loader needs its own arguments and the program again.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { nodeFlags } from '../node-flags.mjs';

/**
 * Node's flags for processes whose requests are rare and small: modules that load make V8's young generation grow to
 * 48 MB, which an idle process never gives back (`npm run bench idle`: the API process holds 66 MB instead of 93).
 */
export const smallHeapFlags: readonly string[] = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=2'];

/** Node's flags of an engine. Debugger flags of the supervisor are kept, but not its small heap. */
export function engineFlags(ofSupervisor: readonly string[]): string[] {
  return [...new Set([...nodeFlags, ...ofSupervisor.filter((flag) => !smallHeapFlags.includes(flag))])];
}

/** Options of the dynamic loader that take a value. */
const WITH_VALUE = new Set([
  '--library-path',
  '--preload',
  '--audit',
  '--argv0',
  '--glibc-hwcaps-prepend',
  '--glibc-hwcaps-mask',
  '--inhibit-rpath',
]);

/** The program and the arguments that come before Node's own. */
export function nodeCommand(): readonly [string, ...string[]] {
  const loader = process.execPath;
  if (!isLoader(loader)) return [loader];
  return [loader, ...loaderArguments(readFileSync('/proc/self/cmdline', 'utf8').split('\0').slice(1))];
}

export function isLoader(program: string): boolean {
  return /^ld(-linux|-musl)?[-.\w]*\.so/.test(basename(program));
}

/** Extracts the loader's own arguments and the program from a process's command line. */
export function loaderArguments(words: readonly string[]): string[] {
  let at = 0;
  while (words[at]?.startsWith('--') === true) at += WITH_VALUE.has(words[at]!) ? 2 : 1;
  return words.slice(0, at + 1);
}

// Builds prebuilt/terminal-linux-<arch> from terminal.c: `node runtime/sandbox/agent/terminal/build.ts`. For developers
// who change it, with Debian's gcc and gcc-aarch64-linux-gnu; users load what is committed. Nothing imports it.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const machines: Readonly<Record<string, { readonly tools: string; readonly flags: readonly string[] }>> = {
  x64: { tools: '', flags: ['-fcf-protection=none'] },
  arm64: { tools: 'aarch64-linux-gnu-', flags: ['-mno-outline-atomics'] },
};
/** One file for every Linux: no C library, no loader. */
const flags = (
  '-std=c11 -Os -Wall -Wextra -Werror -ffreestanding -nostdlib -static -s -fno-stack-protector ' +
  '-fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns ' +
  '-Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,norelro -Wl,-z,noseparate-code'
).split(' ');

mkdirSync(join(here, 'prebuilt'), { recursive: true });
for (const [name, { tools, flags: own }] of Object.entries(machines)) {
  const output = join('prebuilt', `terminal-linux-${name}`);
  execFileSync(`${tools}gcc`, [...flags, ...own, 'terminal.c', '-o', output], { cwd: here, stdio: 'inherit' });
}

// A test compares this with the source, so that a program older than it is noticed.
const hash = createHash('sha256').update(readFileSync(join(here, 'terminal.c')));
writeFileSync(join(here, 'prebuilt/source.sha256'), `${hash.digest('hex')}\n`);

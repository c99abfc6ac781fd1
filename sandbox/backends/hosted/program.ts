// The agent as one self-extracting file for `/bin/sh`, unpacked on a machine once per version. The agent runs with the
// machine's own Node (see docs/sandbox-provider.md).
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { BLOCK_BYTES } from '#core/archive/tar-header.ts';
import { programArchive, readProgram, SOURCE_SUFFIX } from '../program-files.ts';
import type { HostedProgram } from './backend.ts';

const ENTRY = `sandbox/backends/hosted/inside/main${SOURCE_SUFFIX}`;
/** The first major version that runs TypeScript directly. */
const NODE_MAJOR = 24;
const FLAGS = ['--disable-warning=ExperimentalWarning', '--max-old-space-size=128'];

export function hostedProgram(): HostedProgram {
  const archive = gzipSync(Buffer.concat([...programArchive(readProgram(ENTRY)), Buffer.alloc(2 * BLOCK_BYTES)]));
  const version = createHash('sha256').update(archive).digest('hex').slice(0, 16);
  const folder = `"$HOME/.platform-sandbox/${version}"`;
  const sh = (script: string): string[] => ['/bin/sh', '-c', script];
  return {
    isInstalled: sh(`test -e ${folder}/installed`),
    call: sh(`exec node ${FLAGS.join(' ')} ${folder}/${ENTRY} call`),
    install: Buffer.from(
      [
        'set -eu',
        `major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)`,
        `[ "$major" -ge ${NODE_MAJOR} ] || { echo "the template needs Node ${NODE_MAJOR} as node in PATH, and has $major" >&2; exit 1; }`,
        'umask 077',
        `mkdir -p ${folder}`,
        `base64 -d <<'END' | tar -xzf - -C ${folder}`,
        archive.toString('base64').replace(/.{1,76}/g, '$&\n') + 'END',
        `touch ${folder}/installed`,
        '',
      ].join('\n'),
    ),
  };
}

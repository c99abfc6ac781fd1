// `npm test -- native`: builds the native half's codecs with AddressSanitizer and UndefinedBehaviorSanitizer and
// fuzzes them; a number sets the seed. Reports a missing compiler: users load committed binaries and need none.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runProgram } from '../tools/processes.ts';
import { refuses } from './words.ts';

const FUZZ_MS = 10_000;

export async function run(words: readonly string[]): Promise<number> {
  if (refuses('npm test -- native', words, (word) => /^\d+$/.test(word), ['seeds: whole numbers'])) return 2;
  const seed = words[0] ?? String(Math.floor(Math.random() * 2 ** 31));
  const folder = mkdtempSync(join(tmpdir(), 'platform-native-'));
  try {
    const program = join(folder, 'codecs');
    const flags = [
      '-std=c++20',
      '-O1',
      '-g',
      '-fsanitize=address,undefined',
      '-fno-sanitize-recover=all',
      '-fno-omit-frame-pointer',
    ];
    const compiled = await runProgram('g++', [...flags, 'test/native/codecs.cc', '-o', program], {
      cwd: root,
      show: true,
    }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (compiled === null) {
      process.stdout.write('not run: there is no g++ here (on Debian: apt-get install g++)\n');
      return process.env['CI'] === undefined ? 0 : 1;
    }
    if (compiled.code !== 0) return compiled.code;
    process.stdout.write(`seed ${seed}\n`);
    return (await runProgram(program, [seed, String(FUZZ_MS)], { cwd: root, show: true })).code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

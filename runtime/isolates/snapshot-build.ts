// Child process of snapshot.ts: bundles the guest and writes its snapshot. `snapshot-build.ts <main.ts> <partial> <file> <magic> <key>`.
import { createHash } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import ivm from 'isolated-vm';
import { rolldown } from 'rolldown';

const [entry, partial, file, magic, key] = process.argv.slice(2) as [string, string, string, string, string];

const bundle = await rolldown({
  input: entry,
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'default'] },
  transform: { target: 'es2024' },
  onLog(level, log) {
    if (level === 'warn' && log.code !== 'EVAL') throw new Error(log.message);
  },
});
// Smaller source, smaller snapshot; names stay, for stack traces and for `constructor.name`.
const minify = {
  compress: true,
  mangle: { toplevel: false, keepNames: { function: true, class: true } },
  codegen: { removeWhitespace: true },
};
const { output } = await bundle.generate({ format: 'iife', codeSplitting: false, comments: { legal: false }, minify });
await bundle.close();
const code = output[0].code;
const snapshot = Buffer.from(ivm.Isolate.createSnapshot([{ code, filename: 'platform:guest' }]).copy({ transferIn: false }) as ArrayBuffer);
writeFileSync(
  partial,
  Buffer.concat([
    Buffer.from(magic, 'latin1'),
    Buffer.from(key, 'latin1'),
    Buffer.from(createHash('sha256').update(snapshot).digest('hex'), 'latin1'),
    snapshot,
  ]),
  { mode: 0o600 },
);
renameSync(partial, file);

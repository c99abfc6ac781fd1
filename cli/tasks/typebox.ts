// `:typebox`: writes core/typebox/typebox.mjs, a bundle of the used parts of TypeBox; test/unit/core/typebox.test.ts
// compares it. Run it after an upgrade of typebox. Not packed.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './tools/processes.ts';

export const bundledTypebox = path.join(root, 'core/typebox/typebox.mjs');

const ENTRY = `export { Type, Type as default } from 'typebox';\nexport { Compile } from 'typebox/compile';\n`;

export async function run(): Promise<number> {
  writeFileSync(bundledTypebox, await bundleTypebox());
  process.stdout.write(`${path.relative(root, bundledTypebox)}\n`);
  return 0;
}

/** The text of the file, with the license of TypeBox. */
export async function bundleTypebox(): Promise<string> {
  const bundle = await rolldown({
    input: 'entry',
    cwd: root,
    platform: 'node',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? path.join(root, 'core/typebox/entry.mjs') : null),
        load: (id) => (id.endsWith('/core/typebox/entry.mjs') ? ENTRY : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', comments: false, codeSplitting: false });
  await bundle.close();
  if (output.length !== 1) throw new Error(`typebox is bundled to ${output.length} files, not to one`);
  const { version } = JSON.parse(readFileSync(path.join(root, 'node_modules/typebox/package.json'), 'utf8')) as {
    version: string;
  };
  const license = readFileSync(path.join(root, 'node_modules/typebox/license'), 'utf8').trim();
  return `/* Written by cli/tasks/typebox.ts from typebox ${version}.\n\n${license}\n*/\n${output[0].code}`;
}

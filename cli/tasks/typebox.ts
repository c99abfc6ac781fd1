// `:typebox`: writes core/typebox/typebox.mjs, a bundle of the used parts of TypeBox. test/unit/core/typebox.test.ts
// checks that the bundle is current. Run it after an upgrade of typebox. Not packed.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './tools/processes.ts';

export const bundledTypebox = path.join(root, 'core/typebox/typebox.mjs');

/**
 * The types that host code uses by name. `Type` is imported in parts, because it also has a parser of types written as
 * text, a fifth of the file.
 */
const NAMES = [
  'Array',
  'Boolean',
  'Enum',
  'Integer',
  'Literal',
  'Null',
  'Number',
  'Object',
  'Optional',
  'Partial',
  'Record',
  'String',
  'Tuple',
  'Union',
  'Unknown',
  'Unsafe',
].join(', ');
/** The package's own `Compile` also converts, cleans and creates values, which needs a hundred more modules. */
const ENTRY = `
import { ${NAMES} } from 'typebox';
import { Build, Errors } from 'typebox/schema';
export const Type = { ${NAMES} };
export default Type;
export function Compile(type) {
  const built = Build({}, type).Evaluate();
  return { Check: (value) => built.Check(value), Errors: (value) => Errors({}, type, value)[1] };
}
`;

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
        // The bundle names where each part comes from.
        resolveId: (id) => (id === 'entry' ? import.meta.filename : null),
        load: (id) => (id === import.meta.filename ? ENTRY : null),
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

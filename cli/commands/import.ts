// `platform import [file]`: converts a wrangler.jsonc, wrangler.json or wrangler.toml to platform.yaml, and lists
// unsupported keys.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { readTextSync } from '#core/text-file.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { toVariableFile } from '../project/variables.ts';
import { toCliError } from '../project/project.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';
import type { ProjectBeside } from '../wrangler/project.ts';
import { readWrangler } from '../wrangler/read-wrangler.ts';
import { toPlatformYaml } from '../wrangler/to-platform-yaml.ts';
import { nothingToDo } from '../wrangler/unsupported.ts';

const NAMES = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'];
const FILE_BYTES_MAX = 1024 * 1024;

export const command = defineCommand({
  meta: { name: 'import', description: 'Convert a Wrangler configuration to platform.yaml' },
  args: {
    file: {
      type: 'positional',
      required: false,
      description: `The file (default: ${NAMES.join(', ')})`,
    },
    force: { type: 'boolean', description: 'Overwrite an existing platform.yaml' },
    print: { type: 'boolean', description: 'Print the result instead of writing it' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  run({ args, data }) {
    const shell = data as Shell;
    const name = args.file ?? NAMES.find((one) => existsSync(path.join(shell.cwd, one)));
    if (name === undefined)
      throw new CliError(`Found no ${NAMES.join(', ')}`, {
        exitCode: 2,
        advice: 'Pass the file: platform import <file>',
      });
    const text = textOf(path.resolve(shell.cwd, name), name);
    const folder = path.dirname(path.resolve(shell.cwd, name));
    const { yaml, variables, notes } = toPlatformYaml(readWrangler(text, name), projectIn(folder));
    const { problems } = parseProjectConfig(yaml, { file: 'platform.yaml' });
    const errors = problems.filter(({ severity }) => severity === 'error');
    if (errors.length > 0 && args.print !== true)
      throw new AggregateError(
        errors.map((problem) => toCliError(problem, yaml)),
        'The result is not valid',
      );
    const target = path.join(folder, 'platform.yaml');
    const variableFile = path.join(folder, '.env');
    const writesVariables = Object.keys(variables).length > 0 && !existsSync(variableFile) && args.print !== true;
    if (args.print !== true) {
      if (existsSync(target) && args.force !== true)
        throw new CliError('platform.yaml already exists', {
          advice: 'Pass --force to overwrite the file, or --print to print the result.',
        });
      if (writesVariables) writeFileSync(variableFile, toVariableFile(variables), { mode: 0o600 });
      writeFileSync(target, yaml);
    }
    if (args.json) {
      shell.out(
        JSON.stringify({
          from: name,
          file: args.print ? null : target,
          yaml,
          variables: Object.keys(variables),
          notes,
        }),
      );
      return;
    }
    if (args.print) shell.out(yaml.trimEnd());
    else shell.out(`${shell.paint('green', 'Wrote')} platform.yaml from ${name}`);
    const idle = notes.filter(({ key }) => nothingToDo.has(key));
    for (const { key, note } of notes)
      if (!nothingToDo.has(key)) shell.err(plain(`${shell.paint('yellow', key)}: ${note}`));
    if (idle.length > 0) shell.err(plain(`Not needed here: ${idle.map(({ key }) => key).join(', ')}`));
    const names = Object.keys(variables);
    if (names.length > 0)
      shell.err(
        `Variables are not in platform.yaml: ${names.join(', ')}${writesVariables ? ' (in .env now, for `platform dev`)' : ''}. ` +
          'For production: `platform env push .env`',
      );
  },
});

function projectIn(folder: string): ProjectBeside {
  const manifest = new Map<string, unknown>();
  try {
    const read: unknown = JSON.parse(readTextSync(path.join(folder, 'package.json')));
    for (const [key, value] of Object.entries(read ?? {})) manifest.set(key, value);
  } catch {
    // The folder has no package.json, or its package.json is invalid.
  }
  const keysOf = (key: string): string[] => Object.keys(manifest.get(key) ?? {});
  return {
    scripts: new Set(keysOf('scripts')),
    dependencies: new Set([...keysOf('dependencies'), ...keysOf('devDependencies')]),
    has: (file) => existsSync(path.resolve(folder, file)),
  };
}

function textOf(file: string, name: string): string {
  try {
    if (statSync(file).size > FILE_BYTES_MAX) throw new CliError(`${name} has more than ${FILE_BYTES_MAX} bytes`);
    return readTextSync(file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${name} cannot be read: ${(error as Error).message}`, { exitCode: 2 });
  }
}

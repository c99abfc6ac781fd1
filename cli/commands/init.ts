// `platform init [template] [dir]`: creates a project from a template (packages/create/), with packages from this
// checkout or from tarballs if requested; with `--from`, writes platform.yaml for an existing project.
import { existsSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { environmentTypes } from '#core/config/environment-types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { nearestWord } from '#core/spelling.ts';
import { readTextSync } from '#core/text-file.ts';
import { createProject, ProjectError, projectNameFrom, templates } from '#packages/create/project.ts';
import { CliError } from '../terminal/failure.ts';
import { writeFoundConfig } from '../project/found-config.ts';
import { isCheckout, packageFolder } from '../local/locations.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'init', description: 'Start a project from a template' },
  args: {
    template: { type: 'positional', required: false, description: 'worker, hono, static or agent (default: worker)' },
    dir: { type: 'positional', required: false, description: 'Folder of the new project (default: the current one)' },
    force: { type: 'boolean', description: 'Write to a folder that is not empty' },
    from: {
      type: 'string',
      valueHint: 'folder',
      description: 'Write platform.yaml for the existing project in this folder',
    },
    list: { type: 'boolean', description: 'List the templates' },
    packages: {
      type: 'string',
      valueHint: 'folder',
      description: 'Install the platform packages from tarballs in this folder (PLATFORM_PACKAGES)',
    },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  run({ args, data }) {
    const shell = data as Shell;
    if (args.list) {
      if (args.json)
        shell.out(
          JSON.stringify({ templates: Object.entries(templates).map(([name, summary]) => ({ name, summary })) }),
        );
      else
        for (const [name, summary] of Object.entries(templates))
          shell.out(`${shell.paint('cyan', name.padEnd(8))} ${summary}`);
      return;
    }
    if (args.from !== undefined) {
      if (args.template !== undefined)
        throw new CliError('A template and --from cannot be combined', {
          exitCode: 2,
          advice: 'Use `platform init --from .` for an existing project, and a template for a new project.',
        });
      describe(shell, path.resolve(shell.cwd, args.from), args.json === true);
      return;
    }
    const packages = args.packages ?? shell.env['PLATFORM_PACKAGES'] ?? ownPackages();
    const template = args.template ?? 'worker';
    const folder = path.resolve(shell.cwd, args.dir ?? '.');
    const files = initProject(template, folder, {
      force: args.force === true,
      packages: packages ? path.resolve(shell.cwd, packages) : null,
      checkout: isCheckout ? packageFolder : null,
    });
    const name = projectNameFrom(folder);
    if (args.json) {
      shell.out(JSON.stringify({ name, folder, template, files }));
      return;
    }
    shell.out(`Created ${shell.paint('bold', name)} from the template ${template} (${files.length} files)`);
    const steps = ['npm install', 'npm run dev'];
    if (folder !== shell.cwd) steps.unshift(`cd ${path.relative(shell.cwd, folder)}`);
    shell.out(`Next: ${steps.map((step) => shell.paint('cyan', step)).join(', then ')}`);
  },
});

/** The folder of tarballs in a release archive; undefined if the program was installed another way. */
function ownPackages(): string | undefined {
  const folder = path.resolve(packageFolder, '../../../packages');
  return !isCheckout && existsSync(path.join(folder, '../release.json')) ? folder : undefined;
}

function describe(shell: Shell, folder: string, json: boolean): void {
  const { file, config, said } = writeFoundConfig(shell, folder);
  if (json) return shell.out(JSON.stringify({ file, config }));
  for (const line of said) shell.out(line);
  shell.out(`Wrote ${shell.paint('bold', path.relative(shell.cwd, file))}`);
  shell.out(`Next: ${shell.paint('cyan', 'platform dev')}`);
}

/**
 * Writes a template into a folder and returns the paths of the files, sorted.
 *
 * @throws {CliError} for an unknown template, and for a folder that is not empty unless `force` is set. `.git` does not
 *   count.
 */
export function initProject(
  template: string,
  folder: string,
  { force, packages, checkout }: { force: boolean; packages: string | null; checkout: string | null },
): string[] {
  try {
    const files = createProject(template, folder, {
      force,
      changeManifest: (text) => withPackages(text, folder, packages, checkout),
    });
    const { config } = parseProjectConfig(readTextSync(path.join(folder, 'platform.yaml')), { file: 'platform.yaml' });
    writeFileSync(path.join(folder, 'env.d.ts'), environmentTypes(config!));
    return [...files, 'env.d.ts'].sort();
  } catch (error) {
    if (!(error instanceof ProjectError)) throw error;
    if (error.code === 'folder_not_empty')
      throw new CliError(error.message, { advice: 'Choose another folder, or pass --force to use this folder.' });
    const near = nearestWord(template, Object.keys(templates));
    throw new CliError(`${error.message}${near === undefined ? '' : `. Did you mean ${near}?`}`, {
      exitCode: 2,
      advice: `Templates: ${Object.keys(templates).join(', ')}.`,
    });
  }
}

/** Folders of packages in a checkout that work without a build. */
const linked: Readonly<Record<string, string>> = { '@platform-run/cli': 'cli/linked' };

/** Points the platform's packages at local tarballs, else at the checkout that the command runs from. */
function withPackages(text: string, project: string, folder: string | null, checkout: string | null): string {
  if (folder === null && checkout === null) return text;
  const manifest = JSON.parse(text) as Record<'dependencies' | 'devDependencies', Record<string, string> | undefined>;
  const tarballs =
    folder !== null && existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.tgz')) : [];
  const sourceOf = (name: string): string => {
    if (folder === null) {
      const target = path.join(checkout!, linked[name] ?? name.replace('@platform-run/', 'packages/'));
      // The relative path is correct only between real paths, without symbolic links.
      return path.relative(realpathSync(project), realpathSync(target));
    }
    const stem = name.slice(1).replace('/', '-');
    const tarball = tarballs.find((file) => file.startsWith(`${stem}-`) && /^\d/.test(file.slice(stem.length + 1)));
    if (tarball === undefined)
      throw new CliError(`Found no tarball of ${name} in ${folder}`, {
        advice: 'Create the tarballs with `npm run pack` in the checkout of the platform.',
      });
    return path.join(folder, tarball);
  };
  for (const packages of [manifest.dependencies, manifest.devDependencies])
    for (const name of Object.keys(packages ?? {}))
      if (name.startsWith('@platform-run/')) packages![name] = `file:${sourceOf(name)}`;
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

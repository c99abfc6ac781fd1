// `platform init [template] [dir]`: copies a template (cli/templates/) and fills in the name and the package versions.
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { nearestWord } from '#core/spelling.ts';
import { CliError } from '../terminal/failure.ts';
import { isCheckout, packageFolder } from '../local/locations.ts';
import type { Shell } from '../terminal/shell.ts';

const templates: Readonly<Record<string, string>> = {
  worker: 'A worker in TypeScript, no dependency',
  hono: 'A Hono app',
  static: 'Static files with a small API behind them',
};

export const command = defineCommand({
  meta: { name: 'init', description: 'Start a project from a template' },
  args: {
    template: { type: 'positional', required: false, description: 'worker, hono or static (default: worker)' },
    dir: { type: 'positional', required: false, description: 'Folder of the new project (default: the current one)' },
    force: { type: 'boolean', description: 'Write into a folder that is not empty' },
    list: { type: 'boolean', description: 'List the templates' },
    packages: {
      type: 'string',
      valueHint: 'folder',
      description: 'Take the platform packages from tarballs in this folder (PLATFORM_PACKAGES)',
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
    const packages = args.packages ?? shell.env['PLATFORM_PACKAGES'];
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
  if (!Object.hasOwn(templates, template)) {
    const near = nearestWord(template, Object.keys(templates));
    throw new CliError(`There is no template "${template}"${near === undefined ? '' : `. Did you mean ${near}?`}`, {
      exitCode: 2,
      advice: `Templates: ${Object.keys(templates).join(', ')}.`,
    });
  }
  const present = existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.git') : [];
  if (present.length > 0 && !force) {
    throw new CliError(`${folder} is not empty (it holds ${present.toSorted()[0]})`, {
      advice: 'Name another folder, or pass --force to write into this one.',
    });
  }
  const name = projectNameFrom(folder);
  const source = path.join(packageFolder, 'cli', 'templates', template);
  const written: string[] = [];
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = path.join(entry.parentPath, entry.name);
    // npm leaves .gitignore and .npmrc out of packages: templates store them with an underscore.
    const to = path.relative(source, from).replace(/(^|[\\/])_/, '$1.');
    const text = readFileSync(from, 'utf8').replaceAll('__name__', name);
    mkdirSync(path.dirname(path.join(folder, to)), { recursive: true });
    writeFileSync(path.join(folder, to), to === 'package.json' ? withPackages(text, folder, packages, checkout) : text);
    written.push(to);
  }
  return written.sort();
}

/** A project name (core/names.ts) made from a folder's name. */
export function projectNameFrom(folder: string): string {
  const slug = path
    .basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return slug === '' ? 'app' : slug;
}

/** Where a checkout has what the packages are made of: their commands and types work there as they are. */
const linked: Readonly<Record<string, string>> = { '@platform-run/cli': 'cli/linked' };

/** Points the platform's packages at local tarballs, else at the checkout that the command runs from. */
function withPackages(text: string, project: string, folder: string | null, checkout: string | null): string {
  if (folder === null && checkout === null) return text;
  const manifest = JSON.parse(text) as { devDependencies: Record<string, string> };
  const tarballs =
    folder !== null && existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.tgz')) : [];
  for (const name of Object.keys(manifest.devDependencies).filter((key) => key.startsWith('@platform-run/'))) {
    if (folder === null) {
      const target = path.join(checkout!, linked[name] ?? name.replace('@platform-run/', 'packages/'));
      // Links are followed by where folders are, not by how they are called.
      manifest.devDependencies[name] = `file:${path.relative(realpathSync(project), realpathSync(target))}`;
      continue;
    }
    const stem = name.slice(1).replace('/', '-');
    const tarball = tarballs.find((file) => file.startsWith(`${stem}-`) && /^\d/.test(file.slice(stem.length + 1)));
    if (tarball === undefined)
      throw new CliError(`There is no tarball of ${name} in ${folder}`, {
        advice: 'Make them with `npm run pack` in the checkout of the platform.',
      });
    manifest.devDependencies[name] = `file:${path.join(folder, tarball)}`;
  }
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

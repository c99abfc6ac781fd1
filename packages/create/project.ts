// Writes a template into a folder, with the project's name filled in. Called by main.ts (`npm create`) and by
// `platform init`; never prompts or prints.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The templates with descriptions. */
export const templates: Readonly<Record<string, string>> = {
  worker: 'A worker in TypeScript, no dependency',
  hono: 'A Hono app',
  static: 'Static files with a small API behind them',
  agent: 'An AI agent that chats on a web page',
};

/** The reason why no project was created; no file was written. */
export class ProjectError extends Error {
  override readonly name = 'ProjectError';
  readonly code: 'unknown_template' | 'folder_not_empty';

  constructor(code: 'unknown_template' | 'folder_not_empty', message: string) {
    super(message);
    this.code = code;
  }
}

/** Options besides the template and the folder. */
interface ProjectOptions {
  /** Whether to write into a folder that is not empty; false by default. `.git` is ignored. */
  readonly force?: boolean;
  /** Changes the text of `package.json` before it is written; the folder exists by then. */
  readonly changeManifest?: (text: string) => string;
}

/**
 * Creates a project from a template.
 *
 * @param template a key of `templates`
 * @param folder an absolute path; created if necessary
 * @returns the paths of the files, sorted
 * @throws {ProjectError} for an unknown template, and for a folder that is not empty unless `force` is set.
 * @example createProject('hono', path.resolve('my-app')); // ['.gitignore', ..., 'tsconfig.json']
 */
export function createProject(template: string, folder: string, options: ProjectOptions = {}): string[] {
  if (!Object.hasOwn(templates, template))
    throw new ProjectError('unknown_template', `There is no template "${template}"`);
  const present = existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.git') : [];
  if (present.length > 0 && options.force !== true)
    throw new ProjectError('folder_not_empty', `${folder} is not empty (it holds ${present.toSorted()[0]})`);
  const name = projectNameFrom(folder);
  const source = path.join(import.meta.dirname, 'templates', template);
  const written: string[] = [];
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = path.join(entry.parentPath, entry.name);
    // npm omits .gitignore and .npmrc from packages, so templates store them with an underscore.
    const to = path.relative(source, from).replace(/(^|[\\/])_/, '$1.');
    const text = readFileSync(from, 'utf8').replaceAll('__name__', name);
    mkdirSync(path.dirname(path.join(folder, to)), { recursive: true });
    const isChanged = to === 'package.json' && options.changeManifest !== undefined;
    writeFileSync(path.join(folder, to), isChanged ? options.changeManifest!(text) : text);
    written.push(to);
  }
  return written.sort();
}

/** A project name derived from a folder's name: lower case, digits and dashes, at most 40 characters. */
export function projectNameFrom(folder: string): string {
  const slug = path
    .basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return slug === '' ? 'app' : slug;
}

// The output folder set in a framework's configuration, and the folder of its site. Pure. Only literal values are read;
// other output folders are found after the build. Called by detect.ts.
import path from 'node:path';
import type { ProjectView } from './project-view.ts';
import type { Framework } from './table.ts';

/** A configured output folder, relative to the project; `problem` if its files cannot be served. */
interface NamedOutput {
  readonly folder: string;
  readonly problem: string | null;
}

/** The folder set by a configuration or a flag of the build command, or null. */
export function namedOutput(project: ProjectView, framework: Framework): NamedOutput | null {
  const { outOption: option, outFlag: flag, outBelow = '.', config = [], files = [] } = framework;
  const names = [...config.map((one) => (isFolder(one) ? `${one}/config` : one)), ...files];
  const texts = names.map((name) => [name, project.text(name) ?? project.config(name)] as const);
  // Vite resolves the output folder relative to its source folder, if a source folder is configured.
  const root = texts.map(([, text]) => valueOf(text, 'root')).find((found) => found !== null);
  const sources = option === 'outDir' ? (root ?? '.') : '.';
  const byFlag = flag === undefined ? null : wordBehind(buildScript(project, framework), flag);
  if (byFlag !== null) return outputAt([sources, byFlag, outBelow], `The script that builds has ${flag} ${byFlag}`);
  if (option === undefined) return null;
  for (const [name, text] of texts) {
    const named = valueOf(text, option);
    if (named === null) continue;
    // VitePress resolves the output folder from its site, but a flag from the working directory.
    const from = option === 'outDir' ? (root ?? siteFolder(project, framework) ?? '.') : '.';
    return outputAt([from, named, outBelow], `${name} has ${option}: ${named}`);
  }
  return null;
}

/** Whether the build script moves the framework's output to another folder. */
export function movesOutput(project: ProjectView, framework: Framework): boolean {
  return /(?:^|[\s;&|])(?:mv|cp|rsync|cpy|ncp|copyfiles|move)\s/.test(buildScript(project, framework));
}

/** The script `build`, otherwise the script that runs the framework's command. */
function buildScript({ scripts }: ProjectView, { build }: Framework): string {
  const own = [...scripts.values()].find((text) => build !== null && text.includes(build));
  return scripts.get('build') ?? own ?? '';
}

/** The folder of the project's site, such as `docs` with VitePress; null means the project itself. */
export function siteFolder(project: ProjectView, framework: Framework): string | null {
  const place = sitePlace(project, framework);
  return place === null || path.posix.dirname(place) === '.' ? null : path.posix.dirname(place);
}

/**
 * The configuration folder of a VitePress site, such as `docs/.vitepress`, which also contains the output. Null: none.
 */
export function sitePlace(project: ProjectView, { config = [] }: Framework): string | null {
  return config.filter(isFolder).find((name) => project.has(name)) ?? null;
}

function isFolder(config: string): boolean {
  return /(?:^|\/)\.\w+press$/.test(config);
}

/** @param named the source folder, the configured folder, and its subfolder that is served. */
function outputAt([from, named, below]: readonly [string, string, string], says: string): NamedOutput {
  const folder = path.posix.join(from, named, below).replace(/\/+$/, '');
  const isOutside = named.startsWith('/') || folder === '..' || folder.startsWith('../');
  return {
    folder,
    problem: isOutside
      ? `${says}, which is outside this folder, and only files inside it are served: choose a folder inside, or add a platform.yaml at the root of the repository with "kind: static", "build", and "out" relative to the root`
      : null,
  };
}

/** The value of a flag, separated by a space or `=`. */
function wordBehind(command: string, flag: string): string | null {
  const [, word] = new RegExp(`(?:^|\\s)${flag}[= ]["']?([^\\s"'$;&|]{1,200})`).exec(command) ?? [];
  return word ?? null;
}

/** The literal value of a key in JavaScript, JSON, YAML or TOML; null if it is not a literal. */
function valueOf(source: string, name: string): string | null {
  const key = `(?<![\\w.$-])["']?${name}["']?\\s{0,9}[:=]\\s{0,9}`;
  const [, quoted] = new RegExp(`${key}["'\`]([^"'\`$\\n]{1,200})["'\`]`).exec(source) ?? [];
  if (quoted !== undefined) return quoted;
  const [, plain] = new RegExp(`^${name}:[ \\t]+([\\w./-]{1,200})[ \\t]*(?:#.*)?$`, 'm').exec(source) ?? [];
  return plain ?? null;
}

// Where a project's own configuration sends the output of its framework, and in which folder its site lies. Pure: it
// reads what is written as a plain text, and leaves the rest to what is seen after the build. Called by detect.ts.
import path from 'node:path';
import type { ProjectView } from './project-view.ts';
import type { Framework } from './table.ts';

/** An output folder that is named, relative to the project; `problem` where nothing can be served from there. */
export interface NamedOutput {
  readonly folder: string;
  readonly problem: string | null;
}

/** What a configuration or a flag of the build command names; null: neither does. */
export function namedOutput(project: ProjectView, framework: Framework): NamedOutput | null {
  const { outOption: option, outFlag: flag, outBelow = '.', config = [], files = [] } = framework;
  const names = [...config.map((one) => (isFolder(one) ? `${one}/config` : one)), ...files];
  const texts = names.map((name) => [name, project.text(name) ?? project.config(name)] as const);
  // Vite counts from the folder of its sources, where that is another one.
  const root = texts.map(([, text]) => valueOf(text, 'root')).find((found) => found !== null);
  const sources = option === 'outDir' ? (root ?? '.') : '.';
  const byFlag = flag === undefined ? null : wordBehind(buildScript(project, framework), flag);
  if (byFlag !== null) return outputAt([sources, byFlag, outBelow], `The script that builds has ${flag} ${byFlag}`);
  if (option === undefined) return null;
  for (const [name, text] of texts) {
    const named = valueOf(text, option);
    if (named === null) continue;
    // VitePress counts from its site, but a flag from where it was called.
    const from = option === 'outDir' ? (root ?? siteFolder(project, framework) ?? '.') : '.';
    return outputAt([from, named, outBelow], `${name} has ${option}: ${named}`);
  }
  return null;
}

/** Whether the script that builds moves what the framework has made, so that it lies elsewhere in the end. */
export function movesOutput(project: ProjectView, framework: Framework): boolean {
  return /(?:^|[\s;&|])(?:mv|cp|rsync|cpy|ncp|copyfiles|move)\s/.test(buildScript(project, framework));
}

/** The script `build`, else the one that runs the framework's command. */
function buildScript({ scripts }: ProjectView, { build }: Framework): string {
  const own = [...scripts.values()].find((text) => build !== null && text.includes(build));
  return scripts.get('build') ?? own ?? '';
}

/** The folder of the project that its site lies in, as VitePress has it in `docs`; null: the project's own. */
export function siteFolder(project: ProjectView, framework: Framework): string | null {
  const place = sitePlace(project, framework);
  return place === null || path.posix.dirname(place) === '.' ? null : path.posix.dirname(place);
}

/** The folder with the configuration of such a site, `docs/.vitepress`; its output lies below. Null: it has none. */
export function sitePlace(project: ProjectView, { config = [] }: Framework): string | null {
  return config.filter(isFolder).find((name) => project.has(name)) ?? null;
}

function isFolder(config: string): boolean {
  return /(?:^|\/)\.\w+press$/.test(config);
}

/** @param named folder of the sources, the folder that is named, and the one below it that is served. */
function outputAt([from, named, below]: readonly [string, string, string], says: string): NamedOutput {
  const folder = path.posix.join(from, named, below).replace(/\/+$/, '');
  const isOutside = named.startsWith('/') || folder === '..' || folder.startsWith('../');
  return {
    folder,
    problem: isOutside
      ? `${says}, which lies outside of this folder, and only what lies inside is served: name a folder inside, or have a platform.yaml at the root of the repository with "kind: static", "build", and "out" as it is called from there`
      : null,
  };
}

/** The word behind a flag, or behind its `=`. */
function wordBehind(command: string, flag: string): string | null {
  const [, word] = new RegExp(`(?:^|\\s)${flag}[= ]["']?([^\\s"'$;&|]{1,200})`).exec(command) ?? [];
  return word ?? null;
}

/** The text behind a name, in JavaScript, JSON, YAML or TOML; null where it is no plain one. */
function valueOf(source: string, name: string): string | null {
  const key = `(?<![\\w.$-])["']?${name}["']?\\s{0,9}[:=]\\s{0,9}`;
  const [, quoted] = new RegExp(`${key}["'\`]([^"'\`$\\n]{1,200})["'\`]`).exec(source) ?? [];
  if (quoted !== undefined) return quoted;
  const [, plain] = new RegExp(`^${name}:[ \\t]+([\\w./-]{1,200})[ \\t]*(?:#.*)?$`, 'm').exec(source) ?? [];
  return plain ?? null;
}

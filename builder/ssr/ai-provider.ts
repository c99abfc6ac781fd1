// The default provider of the AI SDK for server-rendered projects with `ai: true`: two files next to the app's folder,
// written before every build and before the dev server starts. `platform-ai-provider.js` sets
// `AI_SDK_DEFAULT_PROVIDER`; Next.js loads it through `instrumentation.js`, its hook for code that runs before the app.
// Called by build-step.ts and by `platform dev`.
import { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { ProjectConfig } from '#core/config/project-config.ts';
import { BuildError } from '../project/build-error.ts';
import { isInside } from '../project/containment.ts';
import { detect } from '../frameworks/detect.ts';
import { filesIn } from '../frameworks/project-files.ts';
import { openProject } from '../frameworks/project-view.ts';

const MARK = '// Written by the platform for `ai: true`, anew with every build: what is changed here is lost.\n';
const PROVIDER = 'platform-ai-provider.js';
const AI_MAJOR_MIN = 5;

const PROVIDER_TEXT = `${MARK}// Models that are named by a text alone, such as 'openai/gpt-5', go through the platform's AI gateway.
import { createGateway } from 'ai';

const { PLATFORM_AI_URL: url, PLATFORM_AI_TOKEN: token, PLATFORM_AI_GATEWAY_URL: gatewayUrl } = process.env;
const baseURL = gatewayUrl || (url ? \`\${url}/sdk\` : null);
if (baseURL && token) globalThis.AI_SDK_DEFAULT_PROVIDER ??= createGateway({ baseURL, apiKey: token });
`;

const INSTRUMENTATION_TEXT = `${MARK}export async function register() {
  await import('./${PROVIDER}');
}
`;

const INSTRUMENTATIONS = ['ts', 'js', 'mjs', 'cjs', 'mts', 'cts', 'tsx', 'jsx'].map((end) => `instrumentation.${end}`);

/**
 * Writes the files if the project enables AI and depends on `ai`.
 *
 * @param root the project's folder, absolute and without links @returns the written or changed files, relative to the
 * root; empty if no change is needed. @throws {BuildError} `not_supported` for a version of `ai` without a default
 * provider, or if the project already has a file with this name.
 * @example writeAiProvider('/srv/app', { ai: true, kind: null }) // ['platform-ai-provider.js', 'instrumentation.js']
 */
export function writeAiProvider(root: string, config: Pick<ProjectConfig, 'ai' | 'kind'>): readonly string[] {
  if (!config.ai) return [];
  const files = filesIn(root);
  const { framework, kind } = detect(files);
  const project = openProject(files, '.');
  if (framework?.id !== 'next' || (config.kind ?? kind) !== 'ssr' || !project.packages.has('ai')) return [];
  const version = installedVersion(root) ?? project.version('ai');
  const major = version === null ? null : Number(/\d+/.exec(version)?.[0] ?? Number.NaN);
  if (major !== null && major < AI_MAJOR_MIN)
    throw new BuildError(
      'not_supported',
      `ai ${version} is not supported with "ai: true": its default provider came with ai ${AI_MAJOR_MIN}. ` +
        `Set "ai" to "^${AI_MAJOR_MIN}.0.0" or later in package.json, or remove "ai" from platform.yaml and call PLATFORM_AI_URL yourself`,
    );
  const folder = appFolder(root);
  const changed: string[] = [];
  const put = (name: string, text: string): void => {
    const relative = path.join(folder, name);
    const file = insideFile(root, relative);
    if (textOf(file) === text) return;
    writeFileSync(file, text);
    changed.push(relative);
  };
  const own = textOf(insideFile(root, path.join(folder, PROVIDER)));
  if (own !== null && !own.startsWith(MARK))
    throw new BuildError(
      'not_supported',
      `${path.join(folder, PROVIDER)} is a file of this project, and "ai: true" writes its own of that name: rename it`,
    );
  put(PROVIDER, PROVIDER_TEXT);
  const instrumentation = INSTRUMENTATIONS.find((name) => existsSync(path.join(root, folder, name)));
  if (instrumentation === undefined) put('instrumentation.js', INSTRUMENTATION_TEXT);
  else {
    const text = textOf(insideFile(root, path.join(folder, instrumentation))) ?? '';
    put(instrumentation, text.startsWith(MARK) ? INSTRUMENTATION_TEXT : withImport(text, instrumentation));
  }
  return changed;
}

/** The folder in which Next.js searches `instrumentation`: next to `app` or `pages`, which may be in `src`. */
function appFolder(root: string): string {
  const has = (name: string): boolean => existsSync(path.join(root, name));
  return !has('app') && !has('pages') && (has('src/app') || has('src/pages')) ? 'src' : '';
}

/** Inserts the import after the leading comments and directives of a file, unless the file already has it. */
function withImport(text: string, name: string): string {
  if (text.includes(`./${PROVIDER}`)) return text;
  const isCommonJs = /\.c[jt]s$/.test(name) || (/\bexports\b/.test(text) && !/^\s*(?:import|export)\b/m.test(text));
  const line = isCommonJs ? `require('./${PROVIDER}');` : `import './${PROVIDER}';`;
  const at = endOfPrologue(text);
  const before = at === 0 || text[at - 1] === '\n' ? text.slice(0, at) : `${text.slice(0, at)}\n`;
  return `${before}${line}\n${text.slice(at)}`;
}

/** The position after leading comments and directives. */
function endOfPrologue(text: string): number {
  const piece = /\s*(?:\/\/.*|\/\*[\s\S]*?\*\/|(['"])use [\w ]+\1;?)[^\S\n]*\n?/y;
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  for (piece.lastIndex = at; piece.test(text); at = piece.lastIndex);
  return at;
}

/** The installed version, also in a parent folder; null if not installed. */
function installedVersion(root: string): string | null {
  try {
    const file = createRequire(path.join(root, 'package.json')).resolve('ai/package.json');
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    return null;
  }
}

function textOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** No file is written through a link to a path outside the project. */
function insideFile(root: string, relative: string): string {
  const file = path.join(root, relative);
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const folder = realpathSync(path.dirname(file));
  if (!isInside(root, folder) || (isLink && (!existsSync(file) || !isInside(root, realpathSync(file)))))
    throw new BuildError('not_supported', `${relative} is outside the project: "ai: true" writes a file there`);
  return file;
}

// The Node version that a project requests, and the installed version that it gets. Pure. Called by builder/steps/.
import semver from 'semver';
import { isObject, parseObject } from './project-view.ts';

/** A requested version. */
export interface NodeRequest {
  /** The text in the file, such as `22`, `lts/jod` or `>=20 <23`. */
  readonly text: string;
  /** The file that requests the version, for the log. */
  readonly from: string;
}

/** The selected version. */
interface NodeChoice<Node> {
  /** Null means no installed version matches. */
  readonly node: Node | null;
  /** Whether only the major version matches, and the exact version is not installed. */
  readonly isNear: boolean;
}

/** Maximum characters of a version; longer text is ignored. */
const REQUEST_CHARS_MAX = 100;
const LINES_MAX = 20;
/** nvm's names of LTS lines. */
const LINES: Readonly<Record<string, string>> = {
  hydrogen: '18',
  iron: '20',
  jod: '22',
  krypton: '24',
};
const NEWEST = /^(?:node|stable|latest|current|lts|lts\/\*|lts-latest)$/i;

/** Files with a version. The first existing file counts, and takes precedence over `engines` of package.json. */
const FILES = ['.nvmrc', '.node-version'] as const;

/**
 * The version requested by a folder: `.nvmrc`, else `.node-version`, else `engines.node` of package.json, or null.
 *
 * @param read returns the text of a file in the folder, or null.
 * @example await nodeRequestOf(async (name) => (name === '.nvmrc' ? 'v22\n' : null)) // { text: 'v22', from: '.nvmrc' }
 */
export async function nodeRequestOf(read: (name: string) => Promise<string | null>): Promise<NodeRequest | null> {
  for (const from of FILES) {
    const lines = ((await read(from)) ?? '').replace(/^\ufeff/, '').split('\n', LINES_MAX);
    const text = lines.map((line) => line.replace(/#.*/, '').trim()).find((line) => line !== '');
    if (text !== undefined) return { text: shown(text), from };
  }
  const { engines } = parseObject(((await read('package.json')) ?? '{}').replace(/^\ufeff/, ''));
  const asked = isObject(engines) ? engines['node'] : null;
  if (typeof asked !== 'string' || asked.trim() === '') return null;
  return { text: shown(asked.trim()), from: 'engines of package.json' };
}

/** Sanitized for the log. */
function shown(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ').slice(0, REQUEST_CHARS_MAX + 1);
}

/**
 * The newest installed version that matches. If the exact version is not installed, it is the newest version with the
 * same major version.
 *
 * @example chooseNode('22.1.0', [{ version: '24.21.0' }, { version: '22.23.3' }]).node?.version // '22.23.3'
 */
export function chooseNode<Node extends { readonly version: string }>(
  text: string,
  nodes: readonly Node[],
): NodeChoice<Node> {
  const newestFirst = nodes
    .filter(({ version }) => semver.valid(version) !== null)
    .toSorted((a, b) => semver.rcompare(a.version, b.version));
  const range = rangeOf(text);
  if (range === null) return { node: null, isNear: false };
  const found = newestFirst.find(({ version }) => semver.satisfies(version, range));
  if (found !== undefined) return { node: found, isNear: false };
  const very = semver.parse(range);
  const near = very === null ? undefined : newestFirst.find(({ version }) => semver.major(version) === very.major);
  return { node: near ?? null, isNear: near !== undefined };
}

/** A range in npm's syntax; null means invalid. */
function rangeOf(text: string): string | null {
  if (text.length > REQUEST_CHARS_MAX) return null;
  if (NEWEST.test(text)) return '*';
  const [, line] = /^lts\/([a-z]+)$/i.exec(text) ?? [];
  return semver.validRange(line === undefined ? text : LINES[line.toLowerCase()]);
}

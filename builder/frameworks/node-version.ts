// Which version of Node a project asks for, and which of those that are there it gets. Pure. Called by builder/steps/.
import semver from 'semver';
import { isObject, parseObject } from './project-view.ts';

/** What a project asks for. */
export interface NodeRequest {
  /** As it is written, such as `22`, `lts/jod` or `>=20 <23`. */
  readonly text: string;
  /** Where it is written, for the log. */
  readonly from: string;
}

/** What it gets. */
export interface NodeChoice<Node> {
  /** Null: none of them fits. */
  readonly node: Node | null;
  /** Fits in its major alone: that very version is not there. */
  readonly isNear: boolean;
}

/** Of what may stand in a file; a longer one is none. */
const REQUEST_CHARS_MAX = 100;
const LINES_MAX = 20;
/** Names that nvm gives to lines with long-term support. */
const LINES: Readonly<Record<string, string>> = {
  hydrogen: '18',
  iron: '20',
  jod: '22',
  krypton: '24',
};
const NEWEST = /^(?:node|stable|latest|current|lts|lts\/\*|lts-latest)$/i;

/** Files that say it, the first one counts; `engines` of package.json comes after them. */
const FILES = ['.nvmrc', '.node-version'] as const;

/**
 * What a folder asks for: `.nvmrc`, else `.node-version`, else `engines.node` of its package.json; null: nothing.
 *
 * @param read the text of a file of the folder, null where there is none.
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

/** As a log may have it. */
function shown(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ').slice(0, REQUEST_CHARS_MAX + 1);
}

/**
 * The newest of them that fits; where a very version is asked for that is not there, the newest of its major.
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

/** As npm writes a range; null: it is none. */
function rangeOf(text: string): string | null {
  if (text.length > REQUEST_CHARS_MAX) return null;
  if (NEWEST.test(text)) return '*';
  const [, line] = /^lts\/([a-z]+)$/i.exec(text) ?? [];
  return semver.validRange(line === undefined ? text : LINES[line.toLowerCase()]);
}

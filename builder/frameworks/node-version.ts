// Which version of Node a project asks for, and which of those that are there it gets. Pure. Called by builder/steps/.
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
/** Alternatives of a range, and comparisons of one. */
const PARTS_MAX = 20;
/** Names that nvm gives to lines with long-term support. */
const LINES: Readonly<Record<string, string>> = {
  hydrogen: '18',
  iron: '20',
  jod: '22',
  krypton: '24',
};
const NEWEST = /^(?:node|stable|latest|current|lts|lts\/\*|lts-latest)$/i;

type Version = readonly [major: number, minor: number, patch: number];

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
    const lines = ((await read(from)) ?? '').replace(/^\ufeff/, '').split('\n', PARTS_MAX);
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
    .flatMap((node) => {
      const version = parseVersion(node.version);
      return version === null ? [] : [{ node, version }];
    })
    .toSorted((a, b) => compare(b.version, a.version));
  const fits = rangeOf(text);
  const found = fits === null ? undefined : newestFirst.find(({ version }) => fits(version));
  if (found !== undefined) return { node: found.node, isNear: false };
  const [, major] = /^[v=\s]*(\d+)\.\d+\.\d+$/.exec(text) ?? [];
  const near = newestFirst.find(({ version }) => String(version[0]) === major);
  return { node: near?.node ?? null, isNear: near !== undefined };
}

function parseVersion(text: string): Version | null {
  const [, major, minor, patch] = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(text) ?? [];
  return major === undefined ? null : [Number(major), Number(minor), Number(patch)];
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

type Fits = (version: Version) => boolean;

/** Null: it cannot be read. */
function rangeOf(text: string): Fits | null {
  if (text.length > REQUEST_CHARS_MAX) return null;
  if (NEWEST.test(text)) return () => true;
  const [, line] = /^lts\/([a-z]+)$/i.exec(text) ?? [];
  if (line !== undefined) {
    const major = LINES[line.toLowerCase()];
    return major === undefined ? null : rangeOf(major);
  }
  const alternatives = text.split('||');
  if (alternatives.length > PARTS_MAX) return null;
  const fits = alternatives.map(alternativeOf);
  if (fits.some((one) => one === null)) return null;
  return (version) => fits.some((one) => one!(version));
}

/** Comparisons that all have to hold. */
function alternativeOf(text: string): Fits | null {
  const [, from, to] = /^\s*(\S+)\s+-\s+(\S+)\s*$/.exec(text) ?? [];
  const written = from === undefined ? text : `>=${from} <=${to}`;
  // An operator may stand apart from its version.
  const words = written.replace(/([<>=^~])\s+/g, '$1').split(/\s+/);
  const comparisons = words.filter((word) => word !== '').map(comparisonOf);
  if (comparisons.length > PARTS_MAX || comparisons.some((one) => one === null)) return null;
  return (version) => comparisons.every((one) => one!(version));
}

function comparisonOf(word: string): Fits | null {
  const [, operator = '', rest = ''] = /^(>=|<=|>|<|=|\^|~>?)?v?(.+)$/.exec(word) ?? [];
  const parts = rest.split('.');
  if (parts.length > 3 || !parts.every((part) => /^(?:\d{1,6}|[xX*])$/.test(part))) return null;
  const numbers = parts.map((part) => (/\d/.test(part) ? Number(part) : null));
  const wild = numbers.indexOf(null);
  const known = (wild === -1 ? numbers : numbers.slice(0, wild)) as number[];
  const [major, minor = 0, patch = 0] = known;
  if (major === undefined) return () => operator !== '<' && operator !== '>';
  const least: Version = [major, minor, patch];
  const after: Version = known.length === 1 ? [major + 1, 0, 0] : [major, minor + 1, 0];
  const isWhole = known.length === 3;
  switch (operator) {
    case '>=':
      return (version) => compare(version, least) >= 0;
    case '>':
      return (version) => (isWhole ? compare(version, least) > 0 : compare(version, after) >= 0);
    case '<':
      return (version) => compare(version, least) < 0;
    case '<=':
      return (version) => (isWhole ? compare(version, least) <= 0 : compare(version, after) < 0);
    case '^':
      return (version) => compare(version, least) >= 0 && version[0] === major;
    case '~':
    case '~>':
      return (version) => compare(version, least) >= 0 && compare(version, after) < 0;
    default:
      return (version) =>
        isWhole ? compare(version, least) === 0 : compare(version, least) >= 0 && compare(version, after) < 0;
  }
}

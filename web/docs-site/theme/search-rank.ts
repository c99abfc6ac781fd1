// Ranks search results: guides before references, a page about the words before pages that mention them. Called by
// MiniSearch in browsers; imports no module.

/** References list every name once, so that they match almost any search. */
const REFERENCES = new Set([
  'api',
  'api-reference',
  'changelog',
  'cli',
  'cli-reference',
  'configuration-reference',
  'errors',
  'frameworks-table',
  'glossary',
  'limits',
  'variables',
]);
/** Pages for people who change the platform. */
const INTERNALS = new Set(['add-a-binding', 'architecture', 'contributing', 'sandbox-conformance', 'security']);
/** Folders of pages that show one use of a feature that a guide describes. */
const EXAMPLES = /^\/(?:quickstart|recipes)\/\w/;

/** Fields of a section that MiniSearch stores. */
interface Section {
  /** Headings above the section; empty for the first section of a page. */
  readonly titles?: readonly string[];
  readonly title?: string;
}

/**
 * The factor for the score of a section.
 *
 * @param id the address of the section: `/cron#schedules`.
 * @param term a word of the index that the search matches, in lower case.
 */
export function rankOf(id: string, term: string, section: Section = {}): number {
  const [page = ''] = id.split('#');
  const name = page.slice(1).replace(/\/$/, '');
  const isAbout = namesOf(name, section).has(term.replace(/s$/, ''));
  if (isAbout && section.titles?.length === 0) return EXAMPLES.test(page) ? 5 : 8;
  if (INTERNALS.has(name)) return 0.2;
  if (REFERENCES.has(name)) return 0.3;
  return (EXAMPLES.test(page) ? 0.6 : 1) * (isAbout ? 2 : 1);
}

/** Words of the page's name and of the section's heading, without the plural's s. */
function namesOf(name: string, { title = '' }: Section): Set<string> {
  const words = `${name.split('/').at(-1)} ${title}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return new Set(words.map((word) => word.replace(/s$/, '')));
}

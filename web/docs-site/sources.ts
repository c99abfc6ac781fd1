// The Markdown of the site: the pages of docs/, those of the repository's root that belong to them, and the generated
// ones. Links lead to pages; what lies in the repository alone is named as code. Reads files, writes nothing.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { apiPage } from './pages/api.ts';
import { benchmarksPage } from './pages/benchmarks.ts';
import { commandsPage } from './pages/commands.ts';
import { configurationPage } from './pages/configuration.ts';
import { errorsPage } from './pages/errors.ts';
import { homePage } from './pages/home.ts';

/** The folder of the repository. */
export const root = path.join(import.meta.dirname, '../..');

/** Pages that lie at the repository's root, by their file there. */
const fromRoot: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md': 'architecture',
  'CONTRIBUTING.md': 'contributing',
  'SECURITY.md': 'security',
};

/** Text by page, such as `getting-started`. */
export async function readPages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>([['index', homePage()]]);
  for (const file of globSync('docs/**/*.md', { cwd: root }).sort()) {
    const page = pageOf(file);
    if (page !== null && page !== 'index') pages.set(page, linked(file, readFileSync(path.join(root, file), 'utf8')));
  }
  for (const [file, page] of Object.entries(fromRoot))
    pages.set(page, linked(file, readFileSync(path.join(root, file), 'utf8')));
  const schema = JSON.parse(readFileSync(path.join(root, 'docs/platform.schema.json'), 'utf8')) as object;
  pages.set('configuration-reference', configurationPage(schema));
  pages.set('cli-reference', await commandsPage());
  pages.set('api-reference', await apiPage());
  pages.set('errors', errorsPage());
  pages.set('benchmarks', benchmarksPage(path.join(root, 'bench')));
  return pages;
}

/** First heading of a page. */
export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? '';
}

/** The page that a file of the repository is; null: none. `docs/decisions/README.md` is `decisions/index`. */
function pageOf(file: string): string | null {
  if (fromRoot[file] !== undefined) return fromRoot[file];
  if (file === 'README.md') return 'index';
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return null;
  return file
    .slice('docs/'.length, -'.md'.length)
    .split(path.sep)
    .join('/')
    .replace(/(^|\/)README$/, '$1index');
}

/** A page's links with the addresses of the site. A link into the repository becomes its text. */
function linked(file: string, text: string): string {
  return text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part, at) =>
      at % 2 === 1
        ? part
        : part.replace(
            /\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
            (_, label: string, to: string, hash = '') => {
              const page = pageOf(path.posix.join(path.posix.dirname(file), to));
              return page === null
                ? label
                : `[${label}](/${page === 'index' ? '' : page.replace(/\/index$/, '/')}${hash})`;
            },
          ),
    )
    .join('');
}

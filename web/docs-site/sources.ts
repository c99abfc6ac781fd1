// Markdown sources of the site: docs/, some files of the repository root, and generated pages. Links to pages are
// rewritten; links to other files of the repository become code. Reads files, but writes none.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectConfigSchema } from '#core/config/project-config-schema.ts';
import { apiPage } from './pages/api.ts';
import { benchmarksPage } from './pages/benchmarks.ts';
import { commandsPage } from './pages/commands.ts';
import { configurationPage } from './pages/configuration.ts';
import { errorsPage } from './pages/errors.ts';
import { homePage } from './pages/home.ts';

/** The folder of the repository. */
export const root = path.join(import.meta.dirname, '../..');

/** Pages in the repository root, by file name. */
const fromRoot: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md': 'architecture',
  'CHANGELOG.md': 'changelog',
  'CONTRIBUTING.md': 'contributing',
  'SECURITY.md': 'security',
};

/** Markdown by page, such as `getting-started`. */
export async function readPages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>([['index', homePage()]]);
  for (const file of globSync('docs/**/*.md', { cwd: root }).sort()) {
    const page = pageOf(file);
    if (page !== null && page !== 'index') pages.set(page, linked(file, readFileSync(path.join(root, file), 'utf8')));
  }
  for (const [file, page] of Object.entries(fromRoot))
    pages.set(page, linked(file, readFileSync(path.join(root, file), 'utf8')));
  pages.set('configuration-reference', configurationPage(projectConfigSchema() as object));
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

/** Whether search includes a page: decisions and measurements are excluded, because they mention every topic. */
export function isSearched(page: string): boolean {
  return !page.startsWith('decisions/') && page !== 'benchmarks' && page !== 'security-review';
}

/** The page of a repository file, or null. `docs/decisions/README.md` is `decisions/index`. */
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

/** Rewrites links and pictures to URLs of the site. Links into the repository become text. */
function linked(file: string, text: string): string {
  return text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part, at) =>
      at % 2 === 1
        ? part
        : part.replace(
            /(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
            (_, mark: string, label: string, to: string, hash = '') => {
              if (mark === '!')
                return `![${label}](/${path.posix.join(path.posix.dirname(file), to).slice('docs/'.length)})`;
              const page = pageOf(path.posix.join(path.posix.dirname(file), to));
              return page === null
                ? label
                : `[${label}](/${page === 'index' ? '' : page.replace(/\/index$/, '/')}${hash})`;
            },
          ),
    )
    .join('');
}

// Navigation of the documentation site: pages by file name in docs/, in the order of a newcomer's questions. Pages of
// docs/ that are not listed are added under "More".

/** A group of pages. */
interface Chapter {
  readonly title: string;
  /** File name without extension, and title in the navigation. */
  readonly pages: readonly (readonly [page: string, title: string])[];
}

const chapters: readonly Chapter[] = [
  {
    title: 'Start',
    pages: [
      ['getting-started', 'Getting started'],
      ['tutorial', 'Tutorial'],
      ['troubleshooting', 'Troubleshooting'],
    ],
  },
  {
    title: 'Build',
    pages: [
      ['workers', 'Workers'],
      ['static-files', 'Static files'],
      ['error-pages', 'Error pages'],
      ['ssr', 'Servers for Node'],
      ['framework', 'The worker framework'],
      ['frameworks', 'Frameworks'],
      ['frameworks-table', 'Table of frameworks'],
      ['vite', 'Vite'],
      ['compatibility', 'Compatibility'],
      ['dev-dashboard', 'The dashboard of platform dev'],
      ['mock-server', 'Bindings in Node'],
    ],
  },
  {
    title: 'Bindings',
    pages: [
      ['bindings', 'Overview'],
      ['database', 'Databases'],
      ['state', 'State'],
      ['files', 'Files'],
      ['cache', 'Caches'],
      ['auth', 'Users'],
      ['events', 'Event guarantees'],
      ['queue', 'Queues'],
      ['timer', 'Timers'],
      ['cron', 'Schedules'],
      ['workflow', 'Workflows'],
      ['ai', 'AI models'],
      ['ai-clients', 'AI clients'],
      ['agents', 'Agents'],
    ],
  },
  {
    title: 'Deploy',
    pages: [
      ['deployments', 'Deployments'],
      ['git-host', 'Git hosts and remotes'],
      ['builds', 'Builds from Git'],
      ['builder', 'The builder'],
      ['previews', 'Previews'],
      ['skew-protection', 'Skew protection'],
      ['domains', 'Domains'],
      ['webhooks', 'Webhooks'],
      ['drains', 'Log drains'],
      ['ai-gateway', 'AI gateway'],
      ['alerts', 'Alerts'],
    ],
  },
  {
    title: 'Migration',
    pages: [
      ['coming-from-vercel', 'From Vercel'],
      ['coming-from-wrangler', 'From Wrangler'],
    ],
  },
  {
    title: 'Self-hosting',
    pages: [
      ['self-hosting', 'Install'],
      ['compose', 'With compose'],
      ['handler', 'The handler'],
      ['sign-in', 'Signing in'],
      ['operating', 'Operations'],
      ['observability', 'Logs and traces'],
      ['backup', 'Backup and restore'],
      ['upgrade', 'Upgrades'],
      ['macos', 'On macOS'],
    ],
  },
  {
    title: 'Reference',
    pages: [
      ['platform-yaml', 'platform.yaml'],
      ['configuration-reference', 'Keys of platform.yaml'],
      ['cli', 'CLI'],
      ['cli-reference', 'Commands and flags'],
      ['api', 'Management API'],
      ['api-reference', 'Operations of the API'],
      ['limits', 'Limits'],
      ['variables', 'Variables'],
      ['errors', 'Errors'],
      ['glossary', 'Glossary'],
    ],
  },
  {
    title: 'Quality',
    pages: [
      ['benchmarks', 'Benchmarks'],
      ['security', 'Security model'],
      ['security-review', 'Security review'],
    ],
  },
  {
    title: 'How it works',
    pages: [
      ['architecture', 'Architecture'],
      ['add-a-binding', 'Add a binding'],
      ['contributing', 'Contributing'],
      ['decisions/index', 'Decisions'],
    ],
  },
];

/**
 * The chapters with existing pages, and the remaining pages at the end.
 *
 * @param titles of all pages.
 */
export function navigationOf(titles: ReadonlyMap<string, string>): Chapter[] {
  const named = new Set(chapters.flatMap(({ pages }) => pages.map(([page]) => page)));
  const rest = [...titles].filter(([page]) => !named.has(page) && !page.startsWith('decisions/') && page !== 'index');
  return [
    ...chapters.map(({ title, pages }) => ({ title, pages: pages.filter(([page]) => titles.has(page)) })),
    { title: 'More', pages: rest },
  ].filter(({ pages }) => pages.length > 0);
}

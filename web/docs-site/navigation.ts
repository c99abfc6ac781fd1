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
      ['examples', 'Examples'],
      ['comparison', 'Comparison'],
      ['troubleshooting', 'Troubleshooting'],
    ],
  },
  {
    title: 'Quickstart',
    pages: [
      ['quickstart/index', 'By framework'],
      ['quickstart/nextjs', 'Next.js'],
      ['quickstart/sveltekit', 'SvelteKit'],
      ['quickstart/nuxt', 'Nuxt'],
      ['quickstart/astro', 'Astro'],
      ['quickstart/react-router', 'React Router'],
      ['quickstart/tanstack-start', 'TanStack Start'],
      ['quickstart/angular', 'Angular'],
      ['quickstart/hono', 'Hono'],
      ['quickstart/vite-react', 'Vite and React'],
      ['quickstart/html', 'Plain HTML'],
    ],
  },
  {
    title: 'Build',
    pages: [
      ['workers', 'Workers'],
      ['handlers', 'Handlers of a worker'],
      ['environment-variables', 'Variables and secrets'],
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
      ['objects', 'Durable objects'],
      ['files', 'Files'],
      ['cache', 'Caches'],
      ['auth', 'Users'],
      ['events', 'Event guarantees'],
      ['queue', 'Queues'],
      ['timer', 'Timers'],
      ['sockets', 'TCP sockets'],
      ['cron', 'Schedules'],
      ['workflow', 'Workflows'],
      ['ai', 'AI models'],
      ['ai-clients', 'AI clients'],
      ['agents', 'Agents'],
      ['sandboxes', 'Sandboxes'],
    ],
  },
  {
    title: 'Recipes',
    pages: [
      ['recipes/index', 'Overview'],
      ['recipes/sessions', 'Cookies and sessions'],
      ['recipes/cors', 'CORS'],
      ['recipes/uploads', 'Uploads'],
      ['recipes/rate-limits', 'Rate limits'],
      ['recipes/receive-webhooks', 'Receive webhooks'],
      ['recipes/send-webhooks', 'Send webhooks'],
      ['recipes/scheduled-jobs', 'Scheduled jobs'],
      ['recipes/scraping', 'Scraping with a queue'],
      ['recipes/rag', 'RAG'],
      ['recipes/roles', 'Roles'],
      ['recipes/subdomains', 'Subdomains for customers'],
      ['recipes/chat', 'WebSocket chat'],
    ],
  },
  {
    title: 'Deploy',
    pages: [
      ['projects', 'Projects'],
      ['deployments', 'Deployments'],
      ['guarded-releases', 'Guarded releases'],
      ['git-host', 'Git hosts and remotes'],
      ['git-host-github', 'GitHub'],
      ['git-host-gitlab', 'GitLab'],
      ['git-host-gitea', 'Gitea and Forgejo'],
      ['git-host-bitbucket', 'Bitbucket'],
      ['builds', 'Builds from Git'],
      ['builder', 'The builder'],
      ['previews', 'Previews'],
      ['skew-protection', 'Skew protection'],
      ['domains', 'Domains'],
      ['webhooks', 'Webhooks'],
      ['ai-gateway', 'AI gateway'],
      ['storage', 'Storage'],
    ],
  },
  {
    title: 'Observe',
    pages: [
      ['logs', 'Logs'],
      ['observability', 'Requests and traces'],
      ['alerts', 'Alerts'],
      ['drains', 'Log drains'],
    ],
  },
  {
    title: 'Migration',
    pages: [
      ['coming-from-vercel', 'From Vercel'],
      ['coming-from-netlify', 'From Netlify'],
      ['coming-from-heroku', 'From Heroku'],
      ['coming-from-railway', 'From Railway'],
      ['coming-from-coolify', 'From Coolify'],
      ['coming-from-wrangler', 'From Wrangler'],
    ],
  },
  {
    title: 'Self-hosting',
    pages: [
      ['production', 'Production in ten steps'],
      ['install', 'Install'],
      ['self-hosting', 'Containers'],
      ['kubernetes', 'Kubernetes'],
      ['scaling', 'Scaling'],
      ['handler', 'The handler'],
      ['sign-in', 'Signing in'],
      ['openid-connect', 'OpenID Connect'],
      ['accounts', 'Accounts and teams'],
      ['operating', 'Operations'],
      ['backup', 'Backup and restore'],
      ['upgrade', 'Upgrades'],
      ['sandbox-provider', 'Hosted sandboxes'],
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
      ['changelog', 'Changelog'],
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
      ['sandbox-conformance', 'Conformance of sandboxes'],
      ['contributing', 'Contributing'],
      ['decisions/index', 'Decisions'],
    ],
  },
];

/**
 * The chapters with existing pages, and the remaining pages at the end.
 *
 * @param titles the titles of all pages.
 */
export function navigationOf(titles: ReadonlyMap<string, string>): Chapter[] {
  const named = new Set(chapters.flatMap(({ pages }) => pages.map(([page]) => page)));
  const rest = [...titles].filter(([page]) => !named.has(page) && !page.startsWith('decisions/') && page !== 'index');
  return [
    ...chapters.map(({ title, pages }) => ({ title, pages: pages.filter(([page]) => titles.has(page)) })),
    { title: 'More', pages: rest },
  ].filter(({ pages }) => pages.length > 0);
}

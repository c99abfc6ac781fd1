// What newcomers search for in the documentation, and the page that each has to find first.
export const newcomerSearches: Readonly<Record<string, string>> = {
  cron: '/cron',
  'custom domain': '/domains',
  'environment variables': '/environment-variables',
  webhook: '/webhooks',
  limits: '/limits',
  secret: '/environment-variables',
  'next.js': '/quickstart/nextjs',
  timeout: '/workers',
  quickstart: '/quickstart/',
  'delete project': '/projects',
};

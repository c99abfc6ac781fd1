// Generates the start page: the purpose of the platform, its users, the first commands, and links.

export function homePage(): string {
  return `# platform

A serverless platform that you host yourself: deploy JavaScript and TypeScript apps to your own server, by one command or a
push. Databases, queues, files, sign-in and AI models are lines of a configuration file.

It is for teams that host their own apps, for products that host apps of customers, and for people who like Cloudflare
Workers or Vercel and want to own the machine.

\`\`\`sh
npm ci && npm start      # in a clone: the platform, its dashboard and examples
npx platform deploy      # in a project: builds it and prints its URL
\`\`\`

![Overview of a project in the dashboard: its URLs, requests, errors, latency and CPU of the last hour, and the last failure](/pictures/overview.webp)

[Get started](/getting-started) in ten minutes, or choose a [framework](/quickstart/): Next.js, SvelteKit, Nuxt, Astro and others.

\`\`\`yaml
name: shop
db: { DB: orders }          # SQL, with migrations and a copy for each preview
queue: { MAIL: mail }       # work in the background, with retries
cron: { NIGHTLY: '0 3 * * *' }
auth: { binding: PLATFORM_AUTH }
\`\`\`

| you want to ... | read |
| --- | --- |
| try it | [Getting started](/getting-started), [tutorial](/tutorial), [examples](/examples) |
| build | [Handlers](/handlers), [bindings](/bindings), [recipes](/recipes/) |
| deploy | [Deployments](/deployments), [Git hosts](/git-host), [previews](/previews), [variables and secrets](/environment-variables) |
| see what an app does | [Logs](/logs), [requests and traces](/observability), [alerts](/alerts) |
| run it for others | [Production in ten steps](/production), [signing in](/sign-in), [backups](/backup) |
| move a project here | from [Vercel](/coming-from-vercel), [Netlify](/coming-from-netlify), [Wrangler](/coming-from-wrangler), [Heroku](/coming-from-heroku), [Railway](/coming-from-railway), [Coolify](/coming-from-coolify) |
| compare it | [Comparison](/comparison), [benchmarks](/benchmarks), [security model](/security) |
| look something up | [Keys of platform.yaml](/configuration-reference), [commands](/cli-reference), [errors](/errors), [limits](/limits) |
`;
}

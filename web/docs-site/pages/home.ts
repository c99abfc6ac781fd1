// Generates the start page: introduction, quick start, and links.

export function homePage(): string {
  return `# platform

A serverless platform that you host yourself. A project is a worker (a plain \`fetch\` handler in TypeScript or JavaScript), static files, or
both. Every push gets a URL of its own and runs in its own V8 isolate, with limits on its CPU time, memory and outgoing requests. SQL
databases, state, files, queues, timers, workflows, caches and sign-in are bindings: lines of \`platform.yaml\`.

\`\`\`yaml
name: my-app
kind: worker
db:
  DB: default
\`\`\`

[Get started](/getting-started): from nothing to a deployed app with a database in ten minutes.

## What are you here for?

| question | read |
| --- | --- |
| How do I try it? | [Getting started](/getting-started), then the [tutorial](/tutorial) |
| What can a worker have? | [Bindings](/bindings), [databases](/database), [queues](/queue), [workflows](/workflow) |
| How does my code get there? | [Deployments](/deployments), [Git hosts](/git-host), [previews](/previews) |
| How do I move a project here? | [From Vercel](/coming-from-vercel), [from Wrangler](/coming-from-wrangler) |
| How do I run it for others? | [The handler](/handler), [signing in](/sign-in), [operating it](/operating), [backups](/backup) |
| What does a key, a flag, an error mean? | [Keys of platform.yaml](/configuration-reference), [commands](/cli-reference), [errors](/errors), [limits](/limits) |
| Is it fast? Is it safe? | [Benchmarks](/benchmarks), [what is promised against whom](/security) |
| How does it work? | [Architecture](/architecture), [decisions](/decisions/) |
`;
}

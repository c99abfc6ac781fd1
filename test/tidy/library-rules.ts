// The table of third-party libraries: which folders may import each. Applied by import-findings.ts.

/**
 * The third-party libraries that stay in their folder. One that has no row may be used wherever its package.json
 * declares it.
 */
export const homes: Readonly<Record<string, readonly string[]>> = {
  'isolated-vm': ['runtime/engine/isolates/'],
  // docs/decisions/76-two-sqlite-libraries.md
  'better-sqlite3': ['runtime/stores/'],
  'node:sqlite': ['runtime/databases/', 'artifacts/file-lock.ts'],
  pg: ['postgres/'],
  postgres: ['postgres/'],
  srvx: ['core/process/serve-http.ts'],
  '@netlify/build-info': ['builder/steps/'],
  'pg-connection-string': ['postgres/'],
  'better-auth': ['runtime/engine/auth/'],
  kysely: ['runtime/engine/auth/'],
  redis: ['runtime/stores/', 'runtime/supervisor/', 'control/sessions/'],
  nodemailer: ['control/outbound/'],
  aws4fetch: ['core/s3/', 'control/outbound/'],
  rolldown: ['builder/', 'runtime/engine/isolates/', 'cli/tasks/'],
  unenv: ['builder/'],
  undici: ['core/s3/', 'runtime/', 'sandbox/backends/hosted/', 'gateway/process/', 'control/process/'],
  citty: ['cli/', 'web/docs-site/'],
  pino: ['core/', 'runtime/', 'control/', 'builder/service/', 'web/'],
  croner: ['core/schedules/'],
  mrmime: ['builder/assets/', 'web/serve/finish-site.ts'],
  saxes: ['core/s3/'],
  '@simplewebauthn/server': ['control/sign-in/passkey-verification.ts'],
  jose: ['packages/'],
  'openid-client': ['control/access/oidc/'],
  yaml: ['core/', 'packages/vite/'],
  'urlpattern-polyfill': ['runtime/engine/guest/'],
  'web-streams-polyfill': ['runtime/engine/guest/'],
};

/** What every engine and supervisor loads when it starts. */
export const quickly = ['runtime/engine/http/', 'runtime/engine/process/', 'runtime/supervisor/'];

/** Folders whose third-party imports are judged by nobody: they try things out. */
export const unquarantined = ['test/', 'bench/'];

// Every variable that an operator may set, in groups: what `.env.example` and containers/settings.yaml are made of
// (`:env` writes both; test/unit/docs/env-example.test.ts compares). Not packed.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { aiLimitVariables, aiProviderKinds } from '#core/ai-settings.ts';
import { limitRows, limitsFrom, limitVariables } from '#core/limits.ts';
import { secretVariables } from '#core/process/secret-variables.ts';
import { root } from './tools/processes.ts';

/** A variable: its name, what it is without it ('' where nothing is), what it means. */
type Row = readonly [name: string, otherwise: string, what: string];

interface Group {
  readonly title: string;
  /** Of compose itself, or holding a secret: no part is given all of them. */
  readonly isNotForAll?: boolean;
  readonly rows: readonly Row[];
}

/** All but the secrets that `platform secrets init` makes, and the limits. */
export const variableGroups: readonly Group[] = [
  {
    title: 'Where it answers',
    rows: [
      ['HANDLER_DOMAIN', 'localhost', 'Projects answer on <project>.<domain>; several with commas'],
      ['PUBLIC_PROTOCOL', 'http', 'What visitors use: https where there are certificates'],
      ['PUBLIC_PORT', '4001', 'Port in URLs of deployments; 443 with https'],
      ['PUBLIC_API_URL', 'http://localhost:4002', 'The API as seen from outside'],
      ['AUTH_URL', 'http://localhost:3002', 'The dashboard as seen from outside'],
      ['DOCS_URL', 'http://localhost:3005', 'The documentation as seen from outside'],
      ['DOCS_PORT', '3005', 'Port of the documentation; off: none'],
      ['PUBLIC_HTTPS', '', 'on: the platform runs Caddy itself (docs/domains.md); in compose, Caddy is a container'],
      ['PUBLIC_ADDRESSES', '', 'Addresses of this platform, for the DNS instructions of custom domains'],
      ['API_DNS_SERVERS', '', 'Name servers that custom domains are looked up with'],
      ['SIGN_UP', 'invited', 'Who may sign in: invited, or open to everybody on the Git host'],
      ['TRUSTED_PROXIES', '', "Proxies whose x-forwarded-* headers are believed; in compose, Caddy's network"],
      ['LOG_LEVEL', 'info', 'debug logs more'],
      ['LOG_REQUESTS', 'failures', 'Which requests are logged: failures, all, none'],
      ['LOG_FORMAT', '', 'json or text; default by the terminal'],
      ['TRACE_SAMPLE_RATE', '1', 'Share of invocations that are traced, 0 to 1'],
      ['OTEL_EXPORTER_OTLP_ENDPOINT', '', 'Collector that gets all spans as OTLP'],
      ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '', 'The same, with its whole path'],
      ['OTEL_EXPORTER_OTLP_HEADERS', '', 'Headers for it: name=value, comma-separated'],
      ['NODE_EXTRA_CA_CERTS', '', 'File with certificates of further authorities'],
    ],
  },
  {
    title: 'Certificates, with PUBLIC_HTTPS (docs/domains.md)',
    isNotForAll: true,
    rows: [
      ['CADDY_BIN', 'caddy', 'The program'],
      ['EDGE_HOST', '', 'Address to listen on; all where it is empty'],
      ['EDGE_HTTP_PORT', '80', 'Port of plain HTTP, which is sent on'],
      ['EDGE_HTTPS_PORT', '443', 'Port of HTTPS'],
      ['EDGE_HANDLERS', '127.0.0.1:4001', 'host:port of handlers, with commas between several'],
      ['EDGE_API', '127.0.0.1:4002', 'host:port behind the host of PUBLIC_API_URL'],
      ['EDGE_UI', '127.0.0.1:3002', 'host:port behind the host of AUTH_URL'],
      ['EDGE_DOCS', '127.0.0.1:3005', 'host:port behind the host of DOCS_URL'],
      ['ACME_URL', '', 'Directory of the authority; Let’s Encrypt where it is empty'],
      ['ACME_EMAIL', '', 'Address for letters of the authority'],
      ['ACME_CA_FILE', '', 'Root certificate of the authority itself, as a PEM file'],
      ['EDGE_CERTIFICATE_FILE', '', 'A certificate of your own, such as a wildcard, as a PEM file'],
      ['EDGE_KEY_FILE', '', 'Its key, as a PEM file'],
      ['EDGE_RENEWAL_RATIO', '', 'Part of its life that a certificate has left when it is renewed; a third'],
    ],
  },
  {
    title: 'Git host (docs/git-host.md)',
    isNotForAll: true,
    rows: [
      ['GITHOST_CLIENT_ID', '', 'OAuth application that people sign in with'],
      ['GITHOST_CLIENT_SECRET', '', 'Its secret'],
      ['GITHOST_APP_ID', '', 'Application that has access to repositories'],
      ['GITHOST_APP_PRIVATE_KEY', '', 'Its private key: PEM, with \\n for line breaks'],
      ['GITHOST_URL', 'https://github.com', 'Pages of the Git host'],
      ['GITHOST_API_URL', 'https://api.github.com', 'Its REST API'],
      ['GIT_REMOTE_PRIVATE_HOSTS', '', 'Hosts of remotes that may have private addresses, with commas'],
    ],
  },
  {
    title: 'Where data is',
    isNotForAll: true,
    rows: [
      ['FS_PATH', '/data', 'Folder of artifacts, routes and files; all parts share it'],
      ['DATABASE_URL', '', 'Postgres; made of SQLDB_PASSWORD in compose'],
      ['ENGINE_DATABASE_URL', '', 'The same as engines see it (user platform_engine)'],
      ['CACHE_URL', '', 'Redis, such as redis://:password@redis:6379; none: Postgres'],
      ['ENGINE_CACHE_URL', '', 'The same as engines see it (user platform_engine)'],
      ['DB_STORAGE_MODE', 'basic', 'Project databases: basic (SQLite files) or managed-cloud'],
      ['DB_STORAGE_DIR', '/data/db-storage', 'Folder of the SQLite files'],
      ['DB_URL', '', 'Database service for handlers elsewhere, such as tcp://internal:80'],
      ['DB_SERVICE_PORT', '', 'Port of the database service for them'],
      ['DB_SERVICE_TLS_KEY_FILE', '', 'Private key of the database service, PEM'],
      ['DB_SERVICE_TLS_CERT_FILE', '', 'Certificate of the database service, PEM'],
      ['DB_SERVICE_CA_FILE', '', 'Authority of the certificate of the database service, for handlers'],
      ['DB_SHARDS', '2', 'Processes that project databases are spread over'],
      ['DB_SYNCHRONOUS', 'normal', 'full: every commit survives a power failure'],
      ['DBCLOUD_ORGANIZATION', '', 'Managed database cloud: organization'],
      ['DBCLOUD_GROUP_NAME', '', 'Group'],
      ['DBCLOUD_PRIMARY_LOCATION', '', 'Location'],
      ['DBCLOUD_DATABASE_PREFIX', '', 'Prefix of names'],
      ['DBCLOUD_API_TOKEN', '', 'Token of its API'],
      ['DBCLOUD_GROUP_AUTH_TOKEN', '', 'Token of the databases'],
      ['DBCLOUD_API_URL', '', 'Its API'],
      ['DBCLOUD_PITR_RETENTION_DAYS', '', 'Days that can be restored'],
      ['FILES_S3_ENDPOINT', '', 'S3 for files; none: the folder files of FS_PATH'],
      ['FILES_S3_BUCKET', '', 'Bucket'],
      ['FILES_S3_REGION', '', 'Region'],
      ['FILES_S3_ACCESS_KEY_ID', '', 'Key that reaches that bucket only'],
      ['FILES_S3_SECRET_ACCESS_KEY', '', 'Its secret'],
      ['FILES_S3_PREFIX', '', 'What all keys begin with'],
    ],
  },
  {
    title: 'Workers and builds',
    rows: [
      ['WORKER_EGRESS_ALLOW', '', 'loopback, private: what requests of workers may reach beside the internet'],
      ['WORKER_DNS_SERVERS', '', "Name servers of workers' requests"],
      ['AUTH_MAIL_URL', '', 'Gets letters of sign-in to apps, and of alerts'],
      ['DB_MIGRATIONS_EXECUTOR', 'engine', 'Who applies migrations: engine, or migrator (docs/database.md)'],
      ['MIGRATOR_WORK_DIR', '', 'No effect: an artifact brings its migrations, nothing is checked out'],
      ['BUILD_EXECUTOR', 'local', 'Where builds run: local, or sandbox (docs/builds.md#in-sandboxes)'],
      ['BUILD_EXECUTOR_ORGANIZATIONS', '', 'sandbox: ids of the organizations whose builds these are; default: all'],
      [
        'BUILD_SANDBOX_IMAGE',
        '',
        'container: image of build sandboxes (containers/Dockerfile.sandbox-build); default: that of all',
      ],
      ['BUILD_SANDBOX_TEMPLATE', '', 'hosted: template of build sandboxes; default: HOSTED_TEMPLATE'],
      ['BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID', '', 'hosted: its snapshot; another one is refused'],
      ['BUILD_SANDBOX_MACHINE_TYPE', '', 'sandbox: small, default, large or xlarge; default: what sandboxes have'],
      ['BUILD_WORK_DIR', '', 'Folder of checkouts; default: in FS_PATH'],
      ['BUILD_REACHABLE_HOSTS', '', 'Private hosts that builds reach, as npm.example or 10.0.0.7:4873'],
    ],
  },
  {
    title: 'AI gateway (docs/ai-gateway.md); a provider may have another name, but in containers',
    isNotForAll: true,
    rows: [
      ['AI_PROVIDER_OPENAI_KEY', '', 'Key of OpenAI'],
      ['AI_PROVIDER_OPENAI_URL', 'https://api.openai.com/v1', 'Its base URL, with the version'],
      ['AI_PROVIDER_OPENAI_MODELS', '', 'Models that /ai/models lists, with commas; others work too'],
      ['AI_PROVIDER_ANTHROPIC_KEY', '', 'Key of Anthropic; _URL and _MODELS as above'],
      ['AI_PROVIDER_ANTHROPIC_MODELS', '', 'Models that /ai/models lists'],
      ['AI_PROVIDER_GOOGLE_KEY', '', 'Key of Google; _URL and _MODELS as above'],
      ['AI_PROVIDER_GOOGLE_MODELS', '', 'Models that /ai/models lists'],
      ['AI_PROVIDER_LOCAL_KIND', '', `What a provider called local speaks: ${aiProviderKinds.join(', ')}`],
      ['AI_PROVIDER_LOCAL_URL', '', 'Its base URL, such as http://127.0.0.1:11434/v1'],
      ['AI_PROVIDER_LOCAL_KEY', '', 'Its key'],
      ['AI_PROVIDER_LOCAL_MODELS', '', 'Models that /ai/models lists'],
      ['AI_PROVIDER_MOCK_KIND', '', 'mock: the provider that needs no network'],
      ['AI_GATEWAY_URL', '', 'Of a handler without Postgres of its own: the API, such as http://api:4002'],
      ['AI_ALIASES', '', 'Names for models: fast=openai/gpt-x, with commas'],
      ['AI_AUTO', '', 'What the model auto tries in turn, with commas'],
      ['AI_PRICES_FILE', '', 'Table of prices, JSON'],
      ...aiLimitVariables.map((name): Row => [name, '0', 'Of an organization of the plan; 0: no limit']),
    ],
  },
  {
    title: 'Sandboxes (docs/sandboxes.md)',
    isNotForAll: true,
    rows: [
      ['SANDBOX_URL', '', 'The sandbox service, for handlers, the API and the builder; in compose http://sandbox:4006'],
      [
        'SANDBOX_PROVIDER',
        '',
        'container or hosted: starts a sandbox service here; default of the part sandbox: container',
      ],
      ['SANDBOX_HOST', '', 'Address that it listens on: loopback, private or 0.0.0.0; default: HOST'],
      ['SANDBOX_PORT', '4006', 'Port of the sandbox service'],
      [
        'SANDBOX_ADDRESS',
        '',
        'Where other replicas of it reach this one: http, a private IP address, the port; default: by HOST',
      ],
      [
        'SANDBOX_DATABASE_URL',
        '',
        'Postgres as the sandbox service sees it: user platform_sandbox; default: made here',
      ],
      ['SANDBOX_RETENTION_DAYS', '30', 'A sandbox without a call for so long is destroyed; 0: never'],
      [
        'SANDBOX_DEFAULT_IMAGE',
        'platform-sandbox:latest',
        'container: what sandboxes see (containers/Dockerfile.sandbox)',
      ],
      ['SANDBOX_IMAGES', '', 'container: images that sandboxes may ask for; default: none but the one above'],
      [
        'SANDBOX_MACHINE_MAX',
        'xlarge',
        'The largest machine that sandboxes may ask for: small, default, large, xlarge',
      ],
      ['DOCKER_HOST', 'unix:///var/run/docker.sock', 'container: socket of Docker or podman'],
      ['SANDBOX_NETWORK_ISOLATION', 'true', 'container: nothing else is taken, sandboxes have no network of their own'],
      [
        'SANDBOX_EGRESS_HOSTS',
        '',
        'container: names that sandboxes may reach, *.name with those below; default: all public',
      ],
      ['SANDBOX_LOG_EXEC', '', '1 logs what commands print, which may contain customer data'],
      [
        'SANDBOX_AI_URL',
        '',
        'The API with /ai, for sandboxes; hosted: public and https; default: the API beside a service of containers',
      ],
      ['HOSTED_API_KEY', '', 'hosted: scoped key of the provider'],
      ['HOSTED_ORG', '', 'hosted: organization of the provider'],
      ['HOSTED_BASE_URL', '', 'hosted: API of the provider, https'],
      ['HOSTED_TEMPLATE', '', 'hosted: template to start from'],
      ['HOSTED_TEMPLATE_SNAPSHOT_ID', '', 'hosted: its snapshot; another one is refused'],
      ['HOSTED_MACHINE_TYPE', '', 'hosted: small, default or large'],
      ['HOSTED_TTL_SECONDS', '86400', 'hosted: archived so long after a start; 0: never'],
      ['HOSTED_REQUIRE_SCOPED_KEY', '', 'hosted: true refuses a key that may do everything'],
    ],
  },
  {
    title: 'Backups (docs/backup.md)',
    isNotForAll: true,
    rows: [
      ['BACKUP_CRON', '', 'When one is made: five fields, in UTC; none: never'],
      ['BACKUP_TARGET', '', 'A folder or s3://bucket/prefix; default: backups/ of the data folder'],
      ['BACKUP_KEEP', '7', 'The oldest beyond so many go'],
      ['BACKUP_PASSPHRASE', '', 'Encrypts it, and takes the keys along'],
      ['BACKUP_S3_ENDPOINT', '', 'Storage of s3://'],
      ['BACKUP_S3_REGION', '', 'Its region'],
      ['BACKUP_S3_ACCESS_KEY_ID', '', 'Key that reaches that bucket only'],
      ['BACKUP_S3_SECRET_ACCESS_KEY', '', 'Its secret'],
    ],
  },
  {
    title: 'Processes',
    isNotForAll: true,
    rows: [
      [
        'PLATFORM_PARTS',
        '',
        'What one supervisor runs: handler, databases, broker, api, builder, migrator, sandbox, web, servers; default: all',
      ],
      [
        'SSR_SOCKETS_DIR',
        '',
        'Folder of sockets that handlers and the part servers share; default: handlers run servers themselves',
      ],
      ['API_HANDLER_URL', '', 'Private ports of handlers, for the API and the broker apart from them'],
      ['HOST', '127.0.0.1', 'Address of the private port and the database service'],
      ['HANDLER_HOST', '127.0.0.1', 'Address of the handler'],
      ['API_HOST', '127.0.0.1', 'Address of the API and the dashboard'],
      ['HANDLER_PORT', '4001', 'Port of the handler'],
      ['HANDLER_PRIVATE_PORT', '8081', 'Private port'],
      ['API_PORT', '4002', 'Port of the API; off: none'],
      ['UI_PORT', '3002', 'Port of the dashboard'],
      ['API_WEB_LISTEN', '', 'Where the API listens for the web process apart from it, such as 0.0.0.0:4003'],
      ['WEB_API_URL', '', 'The same as the web process sees it, such as http://api:4003'],
      ['WEB_HOST', '', 'Address of the dashboard and the documentation; default: API_HOST'],
      ['HANDLER_PROCESSES', '', 'Engines that serve; default: one a processor'],
      ['HANDLER_SPARES', '1', 'Engines that wait for one to die'],
      ['HANDLER_LISTENER', 'auto', 'node or uws'],
      ['UWS_HTTP_MAX_HEADERS_SIZE', '', 'Bytes of headers with uws'],
      ['PLATFORM_CACHE_DIR', '', 'Private folder for what can be made again'],
      ['PLATFORM_HOME', '', "Folder of the user's own, ~/.platform"],
    ],
  },
  {
    title: 'Compose alone',
    isNotForAll: true,
    rows: [
      ['PLATFORM_VERSION', 'latest', 'Tag of the images: pin one in production'],
      ['BASE_IMAGE', 'debian:trixie-slim', 'What images are built on: glibc 2.38 or newer'],
      ['POSTGRES_IMAGE', 'platform-postgres', 'Postgres 17 or newer'],
      ['POSTGRES_VERSION', 'latest', 'Its tag: with an image of a registry, one major version'],
      ['POSTGRES_MEMORY', '640m', 'Memory of its container'],
      ['REDIS_IMAGE', 'platform-redis', 'Redis 7 or newer (profile redis)'],
      ['REDIS_VERSION', 'latest', 'Its tag'],
      ['REDIS_MEMORY', '256m', 'Memory of its container'],
      ['LIBSQL_IMAGE', 'libsql-server', 'Server of older databases (profile legacy-libsql); not built here'],
      ['LIBSQL_VERSION', 'latest', 'Its tag'],
      ['LIBSQL_MEMORY', '512m', 'Memory of its container'],
      ['CADDY_IMAGE', 'platform-caddy', 'Caddy 2.6 or newer'],
      ['CADDY_VERSION', 'latest', 'Its tag'],
      ['CADDY_MEMORY', '128m', 'Memory of its container'],
      ['EDGE_MEMORY', '512m', 'Memory of the container of certificates (profile https)'],
      ['PLATFORM_MEMORY', '2304m', 'Memory of the container platform'],
      ['SERVERS_MEMORY', '1g', 'Memory of the container of servers for Node'],
      ['HANDLER_MEMORY', '1g', 'Memory of a handler'],
      ['API_MEMORY', '384m', 'Memory of the API'],
      ['INTERNAL_MEMORY', '512m', 'Memory of broker and database service'],
      ['BUILDER_MEMORY', '1g', 'Memory of all builds together'],
      ['SANDBOX_ENGINE_SOCKET', '/var/run/docker.sock', 'Socket of the engine that runs sandboxes (profile sandbox)'],
      ['SANDBOX_SERVICE_MEMORY', '1g', 'Memory of the sandbox service; sandboxes have their own'],
      ['MIGRATOR_MEMORY', '512m', 'Memory of the migrator (profile migrator)'],
      ['WEB_MEMORY', '192m', 'Memory of dashboard and documentation'],
      ['DOCS_PUBLISHED_PORT', '3005', 'Port of the documentation on this machine'],
      ['BACKUPS_MEMORY', '192m', 'Memory of backups on a schedule (compose.split.yaml)'],
      ['PUBLISH_ADDRESS', '0.0.0.0', 'Address of this machine that deployments are published on'],
      [
        'API_PUBLISH_ADDRESS',
        '127.0.0.1',
        'Address of this machine that API, dashboard and documentation are published on, over plain HTTP',
      ],
      ['HANDLER_PUBLISHED_PORT', '4001', 'Port of deployments on this machine'],
      ['API_PUBLISHED_PORT', '4002', 'Port of the API on this machine'],
      ['UI_PUBLISHED_PORT', '3002', 'Port of the dashboard on this machine'],
      ['HANDLER_UPSTREAMS', 'handler:4001', 'Handlers that Caddy balances, with spaces between'],
    ],
  },
];

const HEADER = `# Variables of an installation. Copy it to .env, or let \`platform secrets init\` do that: it makes the secrets below.
# What is commented out has the value shown. Made by \`node cli/run.mjs :env\`; docs/self-hosting.md explains.
# Never commit .env.
`;

/** Text of `.env.example`. */
export function exampleText(): string {
  const line = (name: string, otherwise: string, what: string): string => `# ${what}\n#${name}=${otherwise}\n`;
  const section = (title: string, lines: readonly string[]): string => `\n## ${title}\n\n${lines.join('')}`;
  const plain = new Map(limitRows.map(([name, value, what]) => [name, [value, what] as const]));
  const limits = limitVariables.map((name) => {
    const [value, what] = plain.get(name) ?? [cpuLimit(name), 'CPU of one invocation in milliseconds; 0: no limit'];
    return line(name, String(value), what);
  });
  return [
    HEADER,
    section(
      'Secrets',
      secretVariables.map(({ name, what, with: needed }) =>
        needed === undefined ? `# ${what}\n${name}=\n` : `# ${what}; made where ${needed} is set\n#${name}=\n`,
      ),
    ),
    ...variableGroups.map(({ title, rows }) =>
      section(
        title,
        rows.map((row) => line(...row)),
      ),
    ),
    section('Limits (docs/limits.md)', limits),
  ].join('');
}

/** Text of containers/settings.yaml: what every part is given, and no secret. */
export function settingsText(): string {
  const names = [
    ...variableGroups
      .filter(({ isNotForAll }) => isNotForAll !== true)
      .flatMap(({ rows }) => rows.map(([name]) => name)),
    ...limitVariables,
  ];
  const lines = names.toSorted().map((name) => `      ${name}:\n`);
  return `# What every part of the platform is given of .env: settings and limits, no secret. The services of the compose files
# extend it. Made by \`node cli/run.mjs :env\`.
services:
  settings:
    environment:
${lines.join('')}`;
}

export async function run(): Promise<number> {
  writeFileSync(path.join(root, '.env.example'), exampleText());
  writeFileSync(path.join(root, 'containers/settings.yaml'), settingsText());
  return 0;
}

/** Defaults of CPU budgets are no rows of their own. */
function cpuLimit(name: string): number {
  const { cpu } = limitsFrom({});
  const [, kind, plan] = /^WORKER_CPU_LIMIT_MS_(?:(QUEUE|TIMER|CRON|WORKFLOW)_)?([A-Z]+)$/.exec(name) ?? [];
  return cpu[(kind ?? 'http').toLowerCase() as keyof typeof cpu][plan!.toLowerCase() as 'free'];
}

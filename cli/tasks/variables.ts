// The table of all variables for operators, in groups. env.ts generates files from it. Not packed.
import { aiLimitVariables, aiProviderKinds } from '#core/ai-settings.ts';

/** A variable: its name, its default ('' if there is none), its meaning. */
export type Row = readonly [name: string, otherwise: string, what: string];

/** Variables of one subject. */
export interface Group {
  readonly title: string;
  /** Page of docs/ that explains them. */
  readonly page?: string;
  /** Variables of compose itself, and secrets: no container gets all of them. */
  readonly isNotForAll?: boolean;
  /** Common variables, listed in `.env.example`. */
  readonly rows: readonly Row[];
  /** Rarely used variables, listed only in docs/variables.md. */
  readonly rare?: readonly Row[];
  /** Limits listed in `.env.example` after the rows; docs/limits.md lists all. */
  readonly limits?: readonly string[];
}

/** All variables except limits and the secrets that `platform secrets init` creates. */
export const variableGroups: readonly Group[] = [
  {
    title: 'Addresses and TLS',
    rows: [
      ['HANDLER_DOMAIN', 'localhost', 'Projects are served at `<project>.<domain>`; comma-separated'],
      ['PUBLIC_PROTOCOL', 'http', 'Protocol of visitors; https by default with NODE_ENV=production or PUBLIC_HTTPS'],
      ['PUBLIC_PORT', '4001', 'Port in URLs of deployments; 443 with https'],
      ['PUBLIC_API_URL', 'http://localhost:4002', 'Public URL of the API'],
      ['AUTH_URL', 'http://localhost:3002', 'Public URL of the dashboard'],
      ['DOCS_URL', 'http://localhost:3005', 'Public URL of the documentation'],
      ['PUBLIC_HTTPS', '', 'on: the platform runs Caddy itself (docs/domains.md); in compose, Caddy is a container'],
      ['PUBLIC_ADDRESSES', '', 'Addresses of this platform, for the DNS instructions of custom domains'],
      ['TRUSTED_PROXIES', '', "Proxies whose x-forwarded-* headers are trusted; in compose, Caddy's network"],
      ['NODE_EXTRA_CA_CERTS', '', 'File with additional certificate authorities'],
    ],
    rare: [
      ['DOCS_PORT', '3005', 'Port on which the documentation is served; `off` turns it off'],
      ['API_DNS_SERVERS', '', 'Name servers for checks of custom domains'],
    ],
  },
  {
    title: 'Certificates, with PUBLIC_HTTPS',
    page: 'domains',
    isNotForAll: true,
    rows: [
      ['EDGE_HTTP_PORT', '80', 'HTTP port, which redirects to HTTPS'],
      ['EDGE_HTTPS_PORT', '443', 'Port of HTTPS'],
      ['ACME_URL', '', 'ACME directory of the certificate authority; default: Let’s Encrypt'],
      ['ACME_EMAIL', '', 'Email address for the certificate authority'],
      ['EDGE_CERTIFICATE_FILE', '', 'A certificate of your own, such as a wildcard, as a PEM file'],
      ['EDGE_KEY_FILE', '', 'Private key of EDGE_CERTIFICATE_FILE, as a PEM file'],
    ],
    rare: [
      ['CADDY_BIN', 'caddy', 'The program Caddy'],
      ['EDGE_HOST', '', 'Address to listen on; default: all'],
      ['EDGE_HANDLERS', '', 'host:port of handlers, comma-separated; default: the machines that announce themselves'],
      ['EDGE_API', '127.0.0.1:4002', 'host:port behind the host of PUBLIC_API_URL'],
      ['EDGE_UI', '127.0.0.1:3002', 'host:port behind the host of AUTH_URL'],
      ['EDGE_DOCS', '127.0.0.1:3005', 'host:port behind the host of DOCS_URL'],
      ['ACME_CA_FILE', '', 'Root certificate of the certificate authority, as a PEM file'],
      ['EDGE_RENEWAL_RATIO', '', 'Remaining part of a certificate’s lifetime when it is renewed; default: a third'],
    ],
  },
  {
    title: 'Sign-in',
    page: 'sign-in',
    rows: [
      ['SIGN_IN', 'password,passkey,git-host,oidc', 'Sign-in methods, comma-separated; tokens always work'],
      ['SIGN_UP', 'invited', 'Who can sign in: invited, or open (every account of the Git host and the provider)'],
    ],
  },
  {
    title: 'Mail',
    page: 'mail',
    isNotForAll: true,
    rows: [
      ['AUTH_MAIL_URL', '', 'Mail server, such as smtp://user:password@host:587, or an endpoint for a POST of JSON'],
      ['MAIL_FROM', '', 'Sender of emails, such as Platform <platform@example.com>; required with a mail server'],
    ],
  },
  {
    title: 'OpenID Connect',
    page: 'openid-connect',
    isNotForAll: true,
    rows: [
      ['OIDC_ISSUER', '', 'Issuer URL of the OpenID Connect provider'],
      ['OIDC_CLIENT_ID', '', 'Client ID of the platform at the provider'],
      ['OIDC_CLIENT_SECRET', '', 'Client secret of the platform at the provider'],
      ['OIDC_NAME', '', "Label of the sign-in button; default: the issuer's host"],
      ['OIDC_DOMAINS', '', 'Domains of verified email addresses that can sign in, comma-separated; default: all'],
      ['OIDC_GROUPS', '', 'Roles of groups, comma-separated: group=organization:role'],
    ],
    rare: [
      ['OIDC_GROUPS_CLAIM', 'groups', "Claim that lists a person's groups"],
      ['OIDC_SCOPES', 'openid email profile', 'Scopes to ask for'],
    ],
  },
  {
    title: 'Git host',
    page: 'git-host',
    isNotForAll: true,
    rows: [
      ['GITHOST_CLIENT_ID', '', 'Client ID of the OAuth application for sign-in'],
      ['GITHOST_CLIENT_SECRET', '', 'Its secret'],
      ['GITHOST_APP_ID', '', 'ID of the application with access to repositories'],
      ['GITHOST_APP_PRIVATE_KEY', '', 'Private key of that application: PEM, with \\n for line breaks'],
      ['GITHOST_URL', 'https://github.com', 'URL of the Git host'],
      ['GITHOST_API_URL', 'https://api.github.com', 'Its REST API'],
    ],
    rare: [['GIT_REMOTE_PRIVATE_HOSTS', '', 'Git hosts and remotes that can have private addresses, comma-separated']],
  },
  {
    title: 'Postgres and Redis',
    isNotForAll: true,
    rows: [
      [
        'DATABASE_URL',
        '',
        'Postgres; in compose, derived from SQLDB_PASSWORD. With a standby: ...@a:5432,b:5432/platform?target_session_attrs=read-write',
      ],
      ['CACHE_URL', '', 'Redis, such as redis://:password@redis:6379; none: Postgres'],
    ],
    rare: [
      ['ENGINE_DATABASE_URL', '', 'Postgres as engines see it (user platform_engine)'],
      ['ENGINE_CACHE_URL', '', 'Redis as engines see it (user platform_engine)'],
    ],
  },
  {
    title: 'Storage',
    isNotForAll: true,
    rows: [
      [
        'FS_PATH',
        '/data',
        'Folder of artifacts, routes and files; parts share it, or each machine has its own with ARTIFACTS_S3_*',
      ],
      ['DB_STORAGE_DIR', '/data/db-storage', 'Folder of the SQLite files'],
      ['FILES_S3_ENDPOINT', '', 'S3 endpoint for files; default: the folder files of FS_PATH'],
      ['FILES_S3_BUCKET', '', 'Bucket'],
      ['FILES_S3_REGION', '', 'Region'],
      ['FILES_S3_ACCESS_KEY_ID', '', 'Access key for this bucket only'],
      ['FILES_S3_SECRET_ACCESS_KEY', '', 'Its secret'],
      [
        'DB_REPLICA_S3_BUCKET',
        '',
        'S3 for replicas of databases (docs/database.md); default: the bucket of FILES_S3_*',
      ],
      ['DB_REPLICA_S3_PREFIX', '', 'Key prefix of replicas; default if they share the bucket of files: _databases'],
      [
        'ARTIFACTS_S3_BUCKET',
        '',
        'Bucket for artifacts of several machines; unset ARTIFACTS_S3_* variables are taken from FILES_S3_*',
      ],
      ['ARTIFACTS_S3_PREFIX', '', 'Key prefix of artifacts; default if they share the bucket of files: _artifacts'],
    ],
    rare: [
      ['FILES_S3_PREFIX', '', 'Key prefix of files'],
      ['DB_REPLICA_S3_ENDPOINT', '', 'S3 endpoint for replicas, if it differs from that for files'],
      ['DB_REPLICA_S3_REGION', '', 'Its region'],
      ['DB_REPLICA_S3_ACCESS_KEY_ID', '', 'Key that reads, writes, deletes and lists replicas'],
      ['DB_REPLICA_S3_SECRET_ACCESS_KEY', '', 'Its secret'],
      ['DB_REPLICA_PREVIEWS', 'off', 'on: databases of previews are replicated as well'],
      ['DB_REPLICATION', '', 'confirm: a write to a database is acknowledged when its replica has it'],
      ['ARTIFACTS_S3_ENDPOINT', '', 'S3 endpoint for artifacts, if it differs from that for files'],
      ['ARTIFACTS_S3_REGION', '', 'Its region'],
      ['ARTIFACTS_S3_ACCESS_KEY_ID', '', 'Key that reads, writes, deletes and lists artifacts'],
      ['ARTIFACTS_S3_SECRET_ACCESS_KEY', '', 'Its secret'],
      ['DB_SYNCHRONOUS', 'normal', 'full: every commit survives a power failure'],
      ['DB_STORAGE_MODE', 'basic', 'Project databases: basic (SQLite files) or managed-cloud'],
      ['DB_URL', '', 'Address of the database service for handlers on other machines, such as tcp://internal:80'],
      ['DB_SERVICE_PORT', '', 'Port of the database service for handlers on other machines'],
      ['DB_SERVICE_TLS_KEY_FILE', '', 'Private key of the database service, PEM'],
      ['DB_SERVICE_TLS_CERT_FILE', '', 'Certificate of the database service, PEM'],
      ['DB_SERVICE_CA_FILE', '', 'Certificate authority of the database service, for handlers'],
      ['DB_SHARDS', '2', 'Number of processes for project databases'],
      ['DBCLOUD_ORGANIZATION', '', 'Managed database cloud: organization'],
      ['DBCLOUD_GROUP_NAME', '', 'Group'],
      ['DBCLOUD_PRIMARY_LOCATION', '', 'Location'],
      ['DBCLOUD_DATABASE_PREFIX', '', 'Prefix of names'],
      ['DBCLOUD_API_TOKEN', '', 'Managed database cloud: token of its API'],
      ['DBCLOUD_GROUP_AUTH_TOKEN', '', 'Managed database cloud: token for the databases'],
      ['DBCLOUD_API_URL', '', 'Its API'],
      ['DBCLOUD_PITR_RETENTION_DAYS', '', 'Managed database cloud: number of days for which databases can be restored'],
    ],
    limits: ['DISK_FREE_BYTES_MIN'],
  },
  {
    title: 'Workers',
    rows: [
      ['WORKER_EGRESS_ALLOW', '', 'loopback, private: addresses that workers can reach in addition to the internet'],
    ],
    rare: [['WORKER_DNS_SERVERS', '', "Name servers for workers' requests"]],
    limits: [
      'WORKER_MEMORY_MB',
      'WORKER_CONCURRENCY',
      'WORKER_WALL_LIMIT_MS',
      'REQUEST_BODY_BYTES_MAX',
      'ENGINE_MEMORY_MB',
    ],
  },
  {
    title: 'Builds and migrations',
    page: 'builds',
    rows: [
      ['BUILD_EXECUTOR', 'local', 'Where builds run: local, or sandbox (docs/builds.md#in-sandboxes)'],
      ['BUILD_REACHABLE_HOSTS', '', 'Private hosts that builds reach, as npm.example or 10.0.0.7:4873'],
      ['DB_MIGRATIONS_EXECUTOR', 'engine', 'Process that applies migrations: engine or migrator (docs/database.md)'],
    ],
    rare: [
      [
        'BUILD_EXECUTOR_ORGANIZATIONS',
        '',
        'sandbox: ids of the organizations whose builds use sandboxes; default: all',
      ],
      [
        'BUILD_SANDBOX_IMAGE',
        '',
        'container: image of build sandboxes (containers/Dockerfile.sandbox-build); default: the image of all sandboxes',
      ],
      ['BUILD_SANDBOX_TEMPLATE', '', 'hosted: template of build sandboxes; default: HOSTED_TEMPLATE'],
      ['BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID', '', 'hosted: required snapshot of the template for builds'],
      [
        'BUILD_SANDBOX_MACHINE_TYPE',
        '',
        'sandbox: small, default, large or xlarge; default: the size of other sandboxes',
      ],
      ['BUILD_WORK_DIR', '', 'Folder of checkouts; default: in FS_PATH'],
      ['MIGRATOR_WORK_DIR', '', 'No effect: migrations are part of the artifact'],
    ],
    limits: ['BUILD_CONCURRENCY', 'BUILD_TIMEOUT_MS', 'BUILD_MEMORY_MB', 'BUILD_DISK_MAX_BYTES'],
  },
  {
    title: 'Plans',
    rows: [],
    limits: [
      'WORKER_CPU_LIMIT_MS_FREE',
      'WORKER_CPU_LIMIT_MS_PRO',
      'WORKER_CPU_LIMIT_MS_ENTERPRISE',
      'STORAGE_BYTES_MAX_FREE',
      'STORAGE_BYTES_MAX_PRO',
      'STORAGE_BYTES_MAX_ENTERPRISE',
    ],
  },
  {
    title: 'AI gateway; in containers, providers of other names are set in AI_ENV_FILE',
    page: 'ai-gateway',
    isNotForAll: true,
    rows: [
      [
        'AI_ENV_FILE',
        './containers/ai.env',
        'File with more AI_PROVIDER_* variables, only for the container of the gateway',
      ],
      ['AI_PROVIDER_OPENAI_KEY', '', 'Key of OpenAI'],
      ['AI_PROVIDER_OPENAI_URL', 'https://api.openai.com/v1', 'Base URL of OpenAI, with the version'],
      ['AI_PROVIDER_OPENAI_MODELS', '', 'Models that /ai/models lists, comma-separated; other models work, too'],
      ['AI_PROVIDER_ANTHROPIC_KEY', '', 'Key of Anthropic; variables with _URL and _MODELS exist, too'],
      ['AI_PROVIDER_GOOGLE_KEY', '', 'Key of Google; variables with _URL and _MODELS exist, too'],
      ['AI_PROVIDER_LOCAL_KIND', '', `API of the provider with the name local: ${aiProviderKinds.join(', ')}`],
      ['AI_PROVIDER_LOCAL_URL', '', 'Base URL of the provider local, such as http://127.0.0.1:11434/v1'],
      ['AI_ALIASES', '', 'Model aliases, comma-separated: fast=openai/gpt-x'],
      ['AI_AUTO', '', 'Models that auto tries in this order, comma-separated'],
      ['AI_PRICES_FILE', '', 'Table of prices, JSON'],
    ],
    rare: [
      ['AI_PROVIDER_ANTHROPIC_MODELS', '', 'Models of Anthropic that /ai/models lists'],
      ['AI_PROVIDER_GOOGLE_MODELS', '', 'Models of Google that /ai/models lists'],
      ['AI_PROVIDER_LOCAL_KEY', '', 'Key of the provider local'],
      ['AI_PROVIDER_LOCAL_MODELS', '', 'Models of the provider local that /ai/models lists'],
      ['AI_PROVIDER_MOCK_KIND', '', 'mock: enables the mock provider, which needs no network'],
      ['AI_GATEWAY_URL', '', 'URL of the API, such as http://api:4002, for handlers without access to Postgres'],
      ...aiLimitVariables.map((name): Row => [name, '0', 'Limit of an organization of this plan; 0 means no limit']),
    ],
  },
  {
    title: 'Sandboxes',
    page: 'sandboxes',
    isNotForAll: true,
    rows: [
      ['SANDBOX_URL', '', 'The sandbox service, for handlers, the API and the builder; in compose http://sandbox:4006'],
      [
        'SANDBOX_PROVIDER',
        '',
        'container or hosted: starts a sandbox service here; default of the part sandbox: container',
      ],
      ['SANDBOX_RETENTION_DAYS', '30', 'Days without a call after which a sandbox is destroyed; 0 means never'],
      [
        'SANDBOX_DEFAULT_IMAGE',
        'platform-sandbox:latest',
        'container: default image of sandboxes (containers/Dockerfile.sandbox)',
      ],
      ['SANDBOX_IMAGES', '', 'container: images that sandboxes can use; default: only SANDBOX_DEFAULT_IMAGE'],
      ['DOCKER_HOST', 'unix:///var/run/docker.sock', 'container: socket of Docker or podman'],
      ['SANDBOX_NETWORK_ISOLATION', 'true', 'container: must be true, since sandboxes have no network of their own'],
      [
        'SANDBOX_EGRESS_HOSTS',
        '',
        'container: hosts that sandboxes can reach, *.name for subdomains; default: all public hosts',
      ],
      [
        'SANDBOX_AI_URL',
        '',
        'URL of the API with /ai, for sandboxes; hosted: a public https URL; container: by default, the API of this installation',
      ],
      ['HOSTED_API_KEY', '', 'hosted: scoped key of the provider'],
      ['HOSTED_ORG', '', 'hosted: organization of the provider'],
      ['HOSTED_BASE_URL', '', 'hosted: API of the provider, https'],
      ['HOSTED_TEMPLATE', '', 'hosted: template to start from'],
    ],
    rare: [
      ['SANDBOX_HOST', '', 'Listening address of the sandbox service: loopback, private or 0.0.0.0; default: HOST'],
      ['SANDBOX_PORT', '4006', 'Port of the sandbox service'],
      [
        'SANDBOX_ADDRESS',
        '',
        'Address of this sandbox service for its other replicas: http, a private IP address, the port; default: derived from HOST',
      ],
      [
        'SANDBOX_DATABASE_URL',
        '',
        'Postgres for the sandbox service (user platform_sandbox); default: derived from DATABASE_URL',
      ],
      ['SANDBOX_MACHINE_MAX', 'xlarge', 'Largest machine size of sandboxes: small, default, large, xlarge'],
      ['SANDBOX_LOG_EXEC', '', '1 logs what commands print, which may contain customer data'],
      ['HOSTED_TEMPLATE_SNAPSHOT_ID', '', 'hosted: required snapshot of the template'],
      ['HOSTED_MACHINE_TYPE', '', 'hosted: machine size of sandboxes: small, default or large'],
      ['HOSTED_TTL_SECONDS', '86400', 'hosted: time after a start until the sandbox is archived; 0 means never'],
      ['HOSTED_REQUIRE_SCOPED_KEY', '', 'hosted: true refuses an unscoped key'],
    ],
    limits: ['SANDBOX_MEMORY_MB', 'SANDBOX_CPUS', 'SANDBOX_DISK_MB', 'SANDBOX_PER_PROJECT_MAX'],
  },
  {
    title: 'Backups',
    page: 'backup',
    isNotForAll: true,
    rows: [
      ['BACKUP_CRON', '', 'Cron expression for backups, in UTC; default: no automatic backups'],
      ['BACKUP_TARGET', '', 'A folder or s3://bucket/prefix; default: backups/ of the data folder'],
      ['BACKUP_KEEP', '7', 'Number of backups to keep'],
      ['BACKUP_PASSPHRASE', '', 'Encrypts backups, and includes the keys in them'],
      ['BACKUP_S3_ENDPOINT', '', 'Storage of s3://'],
      ['BACKUP_S3_REGION', '', 'Its region'],
      ['BACKUP_S3_ACCESS_KEY_ID', '', 'Access key for this bucket only'],
      ['BACKUP_S3_SECRET_ACCESS_KEY', '', 'Its secret'],
    ],
  },
  {
    title: 'Observability',
    page: 'observability',
    rows: [
      ['LOG_LEVEL', 'info', 'debug logs more'],
      ['LOG_REQUESTS', 'failures', 'Which requests are logged: failures, all, none'],
      ['TRACE_SAMPLE_RATE', '1', 'Share of invocations that are traced, 0 to 1'],
      ['OTEL_EXPORTER_OTLP_ENDPOINT', '', 'Collector that gets all spans as OTLP'],
      ['OTEL_EXPORTER_OTLP_HEADERS', '', 'Headers for the collector: name=value, comma-separated'],
    ],
    rare: [
      ['LOG_FORMAT', '', 'json or text; default: text in a terminal, else json'],
      ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '', 'Full URL of the collector, instead of OTEL_EXPORTER_OTLP_ENDPOINT'],
    ],
    limits: ['LOG_RETENTION_MS', 'LOG_PROJECT_BYTES_MAX'],
  },
  {
    title: 'Processes',
    isNotForAll: true,
    rows: [
      ['HANDLER_HOST', '127.0.0.1', 'Address of the handler'],
      ['API_HOST', '127.0.0.1', 'Address of the API and the dashboard'],
      ['HANDLER_PORT', '4001', 'Port of the handler'],
      ['API_PORT', '4002', 'Port of the API; `off` turns it off'],
      ['UI_PORT', '3002', 'Port of the dashboard'],
      ['HANDLER_PROCESSES', '', 'Number of engines; default: one per CPU'],
      ['MACHINE_NAME', '', 'Name of this machine; default: the host name'],
      [
        'MACHINE_ADDRESS',
        '',
        'Address by which the other machines reach this one; default: HOST, where it is not local',
      ],
    ],
    rare: [
      ['HANDLER_SPARES', '1', 'Number of spare engines, which replace engines that die'],
      [
        'PLATFORM_PARTS',
        '',
        'Parts that this supervisor runs: handler, databases, broker, api, builder, migrator, sandbox, web, edge, servers, backups, mirror; default: all',
      ],
      [
        'SSR_SOCKETS_DIR',
        '',
        'Folder of sockets, shared by handlers and the part servers; default: handlers run Node servers themselves',
      ],
      ['API_HANDLER_URL', '', 'Private port URLs of handlers; default: the machines that announce themselves'],
      ['HOST', '127.0.0.1', 'Address of the private port and the database service'],
      ['HANDLER_PRIVATE_PORT', '8081', 'Private port'],
      ['API_WEB_LISTEN', '', 'Listening address of the API for a separate web process, such as 0.0.0.0:4003'],
      ['WEB_API_URL', '', 'URL of that address for the web process, such as http://api:4003'],
      ['WEB_HOST', '', 'Address of the dashboard and the documentation; default: API_HOST'],
      ['HANDLER_LISTENER', 'auto', 'HTTP listener: node or uws (`platform listener install`)'],
      ['PLATFORM_CACHE_DIR', '', 'Private cache folder'],
      ['PLATFORM_HOME', '', "Folder for the platform's files of this user, by default ~/.platform"],
    ],
  },
  {
    title: 'Compose alone',
    isNotForAll: true,
    rows: [
      ['PLATFORM_VERSION', 'latest', 'Tag of the images: pin one in production'],
      ['POSTGRES_VERSION', 'latest', 'Image tag of Postgres; for an image from a registry, set one major version'],
      ['POSTGRES_MEMORY', '640m', 'Memory of the container of Postgres'],
      ['PLATFORM_MEMORY', '2304m', 'Memory of the container platform'],
      ['BUILDER_MEMORY', '1g', 'Memory of all builds together'],
      ['SERVERS_MEMORY', '1g', 'Memory of the container of servers for Node'],
      ['SANDBOX_ENGINE_SOCKET', '/var/run/docker.sock', 'Socket of the engine that runs sandboxes (profile sandbox)'],
      ['PUBLISH_ADDRESS', '0.0.0.0', 'Address of this machine that deployments are published on'],
      [
        'API_PUBLISH_ADDRESS',
        '127.0.0.1',
        'Address of this machine that API, dashboard and documentation are published on, over plain HTTP',
      ],
      ['HANDLER_PUBLISHED_PORT', '4001', 'Port of deployments on this machine'],
      ['API_PUBLISHED_PORT', '4002', 'Port of the API on this machine'],
      ['UI_PUBLISHED_PORT', '3002', 'Port of the dashboard on this machine'],
      ['DOCS_PUBLISHED_PORT', '3005', 'Port of the documentation on this machine'],
    ],
    rare: [
      ['BASE_IMAGE', 'debian:trixie-slim', 'Base image of the images: glibc 2.38 or newer'],
      ['POSTGRES_IMAGE', 'platform-postgres', 'Postgres 17 or newer'],
      ['REDIS_IMAGE', 'platform-redis', 'Redis 7 or newer (profile redis)'],
      ['REDIS_VERSION', 'latest', 'Its tag'],
      ['REDIS_MEMORY', '256m', 'Memory of the container of Redis'],
      [
        'LIBSQL_IMAGE',
        'libsql-server',
        'libSQL server with older databases (profile legacy-libsql); the platform does not build this image',
      ],
      ['LIBSQL_VERSION', 'latest', 'Its tag'],
      ['LIBSQL_MEMORY', '512m', 'Memory of the container of the libSQL server'],
      ['CADDY_IMAGE', 'platform-caddy', 'Caddy 2.6 or newer'],
      ['CADDY_VERSION', 'latest', 'Its tag'],
      ['CADDY_MEMORY', '128m', 'Memory of the container of Caddy'],
      ['EDGE_MEMORY', '512m', 'Memory of the container of certificates (profile https)'],
      ['HANDLER_MEMORY', '1g', 'Memory of a handler'],
      ['API_MEMORY', '384m', 'Memory of the API'],
      ['INTERNAL_MEMORY', '512m', 'Memory of broker and database service'],
      ['SANDBOX_SERVICE_MEMORY', '1g', 'Memory of the sandbox service; sandboxes have their own'],
      ['MIGRATOR_MEMORY', '512m', 'Memory of the migrator (profile migrator)'],
      ['WEB_MEMORY', '192m', 'Memory of dashboard and documentation'],
      ['BACKUPS_MEMORY', '192m', 'Memory of backups on a schedule (compose.split.yaml)'],
      ['HANDLER_UPSTREAMS', 'handler:4001', 'Handlers that Caddy balances, with spaces between'],
    ],
  },
];

/** Rows of a group. */
export const rowsOf = ({ rows, rare = [] }: Group): readonly Row[] => [...rows, ...rare];

// Who may import whom (in short: ARCHITECTURE.md, by map-rules.ts), as a table. import-findings.ts applies it.

/** Files that may import the same. */
export interface Zone {
  /** Path prefix; the longest one that fits decides. */
  readonly prefix: string;
  /** Prefixes its files may import besides the zone itself. */
  readonly may: readonly string[];
  /** Prefixes of which only types may be imported. */
  readonly mayTypes?: readonly string[];
  /** As `may`, for all zones of a kind: not each of them needs each. */
  readonly floor?: readonly string[];
  /** As `mayTypes`, for all zones of a kind. */
  readonly floorTypes?: readonly string[];
  /** Whether it joins the parts of the engine: it may import all of them, but nothing of the guest. */
  readonly joins?: boolean;
}

/** Parts of the engine that handler.ts joins: they know each other's types, never each other's insides. */
const engineParts = [
  'runtime/engine/http/',
  'runtime/engine/assets/',
  'runtime/engine/router/',
  'runtime/engine/isolates/',
  'runtime/engine/invocation/',
  'runtime/engine/bridge/',
  'runtime/engine/bindings/',
  'runtime/engine/work/',
  'runtime/engine/metrics/',
  'runtime/engine/cluster/',
  'runtime/engine/telemetry/',
  'runtime/engine/tracing/',
];
const enginePart = (prefix: string, may: readonly string[] = []): Zone => ({
  prefix,
  may,
  floor: ['core/', 'runtime/engine/bridge/protocol.ts'],
  floorTypes: [...engineParts, 'artifacts/'],
});

const gatewayFloors = ['core/', 'gateway/contract/', 'gateway/accounts/', 'gateway/streams/', 'gateway/providers/'];

/** Below the features of the control plane; of its process they know types. */
const controlFloors = ['core/', 'postgres/', 'control/http/', 'control/access/', 'control/records/'];
const controlProcess = ['control/process/'];
const controlFeature = (name: string, may: readonly string[] = []): Zone => ({
  prefix: `control/${name}/`,
  may,
  floor: controlFloors,
  floorTypes: controlProcess,
});

/** Parts of the command line, above what all of them need. */
const cliPart = (name: string, may: readonly string[] = [], mayTypes: readonly string[] = []): Zone => ({
  prefix: `cli/${name}/`,
  may,
  mayTypes,
  floor: ['core/', 'cli/terminal/', 'cli/local/'],
});

const dashboardFloors = (...names: readonly string[]): string[] => names.map((name) => `dashboard/src/${name}/`);

/** Who may import whom. */
export const zones: readonly Zone[] = [
  { prefix: 'core/', may: [] },
  { prefix: 'packages/', may: [] },
  { prefix: 'artifacts/', may: ['core/'] },
  // The roots of the engine (main, handler, engine) join its parts.
  {
    prefix: 'runtime/engine/',
    joins: true,
    may: ['core/', 'artifacts/', 'runtime/supervisor/data-folder/private-folders.ts'],
  },
  {
    prefix: 'runtime/engine/process/',
    joins: true,
    may: ['core/', 'runtime/stores/'],
    mayTypes: ['artifacts/'],
  },
  { prefix: 'runtime/engine/kinds/', joins: true, may: ['core/'], mayTypes: ['artifacts/'] },
  { prefix: 'runtime/engine/resources/', joins: true, may: ['core/'], mayTypes: ['artifacts/', 'runtime/stores/'] },
  { prefix: 'runtime/engine/serving/', joins: true, may: ['core/'], mayTypes: ['artifacts/'] },
  { prefix: 'runtime/engine/servers/', joins: true, may: ['core/'] },
  { prefix: 'runtime/engine/guest/', may: ['runtime/engine/bridge/protocol.ts'] },
  enginePart('runtime/engine/http/'),
  enginePart('runtime/engine/assets/', ['runtime/engine/http/page-preference.ts']),
  enginePart('runtime/engine/router/'),
  enginePart('runtime/engine/isolates/'),
  enginePart('runtime/engine/invocation/', ['runtime/engine/tracing/trace.ts']),
  enginePart('runtime/engine/bridge/'),
  enginePart('runtime/engine/tracing/'),
  enginePart('runtime/engine/work/', ['runtime/engine/bridge/main-thread-budget.ts']),
  enginePart('runtime/engine/cluster/', ['runtime/engine/http/header-block.ts']),
  {
    prefix: 'runtime/engine/process/supervised.ts',
    may: ['core/', 'runtime/engine/'],
    mayTypes: ['runtime/supervisor/'],
  },
  // The supervisor sums what engines report: names, text and sums are free of the engine.
  { prefix: 'runtime/engine/metrics/', may: ['core/', 'runtime/engine/invocation/outcome.ts'] },
  {
    prefix: 'runtime/engine/auth/',
    may: ['core/', 'runtime/engine/bindings/auth.ts'],
    mayTypes: ['runtime/engine/bindings/', 'runtime/engine/http/', 'runtime/engine/work/'],
  },
  {
    prefix: 'runtime/engine/bindings/',
    may: ['core/', 'runtime/engine/work/'],
    mayTypes: ['runtime/engine/bridge/', 'runtime/engine/tracing/'],
  },
  {
    prefix: 'runtime/stores/',
    may: [
      'core/',
      'postgres/',
      'runtime/databases/protocol/',
      'runtime/databases/sqlite/sql-text.ts',
      'runtime/databases/sqlite/limited-changes.ts',
    ],
    mayTypes: ['runtime/engine/bindings/'],
  },
  { prefix: 'runtime/databases/', may: ['core/'] },
  { prefix: 'runtime/databases/replica/', may: ['core/', 'runtime/databases/', 'runtime/stores/'] },
  { prefix: 'runtime/databases/service/', may: ['core/', 'runtime/databases/'] },
  { prefix: 'runtime/databases/homes/', may: ['core/', 'runtime/databases/', 'runtime/stores/'] },
  { prefix: 'runtime/databases/main.ts', may: ['core/', 'runtime/databases/', 'runtime/stores/'] },
  {
    prefix: 'runtime/migrator/',
    may: [
      'core/',
      'artifacts/artifact-source.ts',
      'artifacts/store/',
      'postgres/',
      'runtime/stores/database-service.ts',
      'runtime/engine/process/migrations.ts',
    ],
  },
  {
    prefix: 'runtime/broker/',
    may: ['core/', 'postgres/'],
    mayTypes: ['runtime/engine/invocation/'],
  },
  {
    prefix: 'runtime/broker/main.ts',
    may: ['core/', 'artifacts/', 'runtime/broker/', 'runtime/stores/'],
  },
  { prefix: 'runtime/mirror/', may: ['core/', 'artifacts/', 'postgres/'] },
  { prefix: 'runtime/ssr/', may: ['core/', 'artifacts/archive/'] },
  // The process joins rows, machines and the way out.
  { prefix: 'sandbox/', may: ['core/', 'postgres/', 'sandbox/'] },
  { prefix: 'sandbox/service/', may: ['core/', 'postgres/', 'sandbox/routes/', 'sandbox/backends/'] },
  { prefix: 'sandbox/routes/', may: ['core/'] },
  { prefix: 'sandbox/backends/', may: ['core/', 'sandbox/agent/', 'sandbox/backends/'] },
  // These run inside sandboxes, with nothing else of ours.
  {
    prefix: 'sandbox/backends/hosted/inside/',
    may: ['core/sandbox/', 'sandbox/agent/'],
  },
  {
    prefix: 'sandbox/backends/container/inside/',
    may: ['core/sandbox/', 'core/outbound/proxy.ts', 'sandbox/agent/'],
  },
  { prefix: 'sandbox/agent/', may: ['core/sandbox/', 'core/errors.ts'] },
  // No part of the agent: developers run it.
  { prefix: 'sandbox/agent/terminal/build.ts', may: ['core/process/static-program.ts'] },
  { prefix: 'runtime/edge/', may: ['core/', 'artifacts/'] },
  {
    prefix: 'runtime/supervisor/',
    may: [
      'core/',
      'artifacts/file-lock.ts',
      'runtime/engine/metrics/',
      'postgres/engine-role.ts',
      'postgres/machine.ts',
      'postgres/schema-version.ts',
      'runtime/engine/cluster/homes.ts',
    ],
  },
  {
    prefix: 'runtime/dev/',
    may: [
      'core/',
      'artifacts/',
      'runtime/engine/',
      'runtime/stores/',
      'runtime/broker/',
      'runtime/databases/service/',
      'sandbox/',
      'runtime/dev/dashboard/',
    ],
  },
  {
    prefix: 'runtime/dev/dashboard/',
    may: [
      'core/',
      'dashboard/build/',
      'resources/',
      'packages/worker/',
      'runtime/engine/bindings/',
      'runtime/engine/http/altered-exchange.ts',
      'runtime/engine/kinds/operations.ts',
    ],
    mayTypes: ['runtime/engine/', 'artifacts/'],
  },
  { prefix: 'postgres/', may: ['core/'] },
  { prefix: 'git/', may: ['core/', 'postgres/'] },
  {
    prefix: 'operations/',
    may: [
      'core/',
      'artifacts/',
      'postgres/',
      'runtime/stores/',
      'runtime/databases/protocol/',
      'runtime/databases/sqlite/copies.ts',
      'runtime/databases/sqlite/libsql-file.ts',
      // A machine that joins is checked as its start checks it.
      'runtime/supervisor/engines/configuration.ts',
      'runtime/supervisor/machine/settings.ts',
      'runtime/supervisor/private-port/settings.ts',
    ],
  },
  { prefix: 'builder/service/', may: ['core/', 'postgres/', 'git/', 'artifacts/', 'builder/'] },
  {
    prefix: 'builder/steps/build-sandbox/',
    may: ['core/', 'artifacts/archive/', 'builder/frameworks/', 'builder/steps/'],
  },
  {
    prefix: 'builder/steps/',
    may: [
      'core/',
      'artifacts/archive/',
      'git/git-environment.ts',
      'builder/build/',
      'builder/command/',
      'builder/frameworks/',
      'builder/project/',
      'builder/steps/outbound/',
    ],
  },
  { prefix: 'builder/steps/outbound/', may: ['core/'] },
  {
    prefix: 'builder/vite/',
    may: ['core/', 'builder/build/', 'builder/bundle/', 'builder/frameworks/', 'builder/project/'],
  },
  {
    prefix: 'builder/build/',
    may: [
      'core/',
      'builder/assets/',
      'builder/bundle/',
      'builder/command/',
      'builder/frameworks/',
      'builder/project/',
      'builder/ssr/',
    ],
  },
  { prefix: 'builder/command/', may: ['core/', 'builder/frameworks/', 'builder/project/', 'builder/ssr/'] },
  { prefix: 'builder/ssr/', may: ['core/', 'builder/assets/', 'builder/frameworks/', 'builder/project/'] },
  { prefix: 'builder/assets/', may: ['core/', 'builder/frameworks/', 'builder/project/'] },
  { prefix: 'builder/frameworks/', may: ['core/', 'builder/project/'] },
  { prefix: 'builder/bundle/', may: ['core/', 'builder/project/'] },
  { prefix: 'builder/project/', may: ['core/'] },
  // They are bundled into workers.
  { prefix: 'builder/shims/', may: ['builder/node/'] },
  { prefix: 'builder/node/', may: [] },
  { prefix: 'resources/', may: ['core/', 'packages/worker/'] },
  // The process joins all of it; below it lie the API, then the features, then records, then what all of them need.
  { prefix: 'control/', may: ['core/', 'artifacts/', 'postgres/', 'control/'] },
  {
    prefix: 'control/api/',
    may: ['core/', 'postgres/', 'git/', 'packages/worker/', 'resources/', 'gateway/accounts/', 'control/'],
  },
  {
    prefix: 'control/api/request/',
    may: ['packages/worker/', 'resources/'],
    floor: controlFloors,
    floorTypes: controlProcess,
  },
  { prefix: 'control/api/events/', may: ['control/telemetry/'], floor: controlFloors, floorTypes: controlProcess },
  {
    prefix: 'control/api/resources/',
    may: ['core/', 'resources/', 'control/http/'],
    mayTypes: ['control/api/request/'],
    floorTypes: controlProcess,
  },
  controlFeature('operator', [
    'git/',
    'gateway/accounts/',
    'operations/doctor/',
    'control/outbound/',
    'control/releases/',
    'control/git-host/',
    'control/sign-in/',
  ]),
  controlFeature('git-push', [
    'git/',
    'packages/create/project.ts',
    'control/releases/',
    'control/git-host/',
    'control/storage/',
    'control/repositories/',
  ]),
  controlFeature('git-host', ['git/', 'packages/worker/', 'control/releases/', 'control/sign-in/']),
  controlFeature('releases', [
    'artifacts/',
    'gateway/accounts/',
    'control/alerts/events.ts',
    'control/storage/',
    'control/repositories/',
  ]),
  controlFeature('storage', ['git/']),
  // Repositories on the platform itself.
  controlFeature('repositories', ['git/']),
  controlFeature('alerts', ['gateway/accounts/', 'operations/doctor/', 'control/outbound/']),
  controlFeature('drains', ['control/outbound/', 'control/telemetry/']),
  controlFeature('domains', ['control/webhooks/']),
  controlFeature('webhooks', ['control/outbound/']),
  controlFeature('outbound'),
  controlFeature('telemetry', ['control/outbound/']),
  controlFeature('usage'),
  controlFeature('sign-in', ['packages/worker/', 'control/sessions/']),
  {
    prefix: 'control/records/',
    may: ['core/', 'postgres/', 'control/access/'],
    mayTypes: ['control/http/'],
    floorTypes: controlProcess,
  },
  {
    prefix: 'control/process/',
    may: ['core/', 'git/', 'resources/', 'control/http/'],
    mayTypes: ['artifacts/', 'postgres/', 'control/access/', 'control/sessions/'],
  },
  { prefix: 'control/sessions/', may: ['postgres/', 'control/access/'] },
  { prefix: 'control/access/', may: ['core/', 'postgres/', 'control/http/'] },
  { prefix: 'control/http/', may: ['core/', 'packages/worker/', 'postgres/', 'resources/'] },
  // The process joins the gateway with its database, its sockets and the way out. `platform dev` has a gateway without.
  { prefix: 'gateway/', may: ['core/', 'gateway/'] },
  {
    prefix: 'gateway/process/',
    may: ['core/', 'gateway/contract/', 'gateway/providers/'],
    mayTypes: ['gateway/accounts/'],
  },
  { prefix: 'gateway/routes/', may: ['gateway/routing/', 'gateway/answers/'], floor: gatewayFloors },
  { prefix: 'gateway/routing/', may: [], floor: gatewayFloors },
  { prefix: 'gateway/answers/', may: ['core/', 'gateway/contract/', 'gateway/accounts/', 'gateway/streams/'] },
  { prefix: 'gateway/providers/', may: ['core/', 'gateway/contract/', 'gateway/accounts/', 'gateway/streams/'] },
  { prefix: 'gateway/streams/', may: ['core/', 'gateway/contract/', 'gateway/accounts/'] },
  { prefix: 'gateway/accounts/postgres/', may: ['core/', 'postgres/', 'gateway/accounts/', 'gateway/contract/'] },
  { prefix: 'gateway/accounts/', may: ['core/', 'gateway/contract/'] },
  { prefix: 'gateway/contract/', may: ['core/'] },
  { prefix: 'cli/', may: ['core/', 'cli/'] },
  {
    prefix: 'cli/commands/',
    may: [
      'core/',
      'cli/',
      'artifacts/',
      'operations/',
      'packages/create/project.ts',
      'runtime/dev/dev.ts',
      // Keys of a provider are made by the operator.
      'sandbox/backends/hosted/',
    ],
    mayTypes: ['packages/vite/messages.ts', 'runtime/dev/contract/'],
  },
  // The Vite plugin says in types what it tells the engine.
  cliPart('vite', ['builder/', 'cli/dev/', 'cli/project/'], ['packages/vite/messages.ts', 'runtime/dev/contract/']),
  cliPart('dev', ['builder/', 'gateway/', 'cli/account/', 'cli/project/', 'cli/api/'], ['runtime/dev/contract/']),
  cliPart('deploy', ['artifacts/', 'cli/account/', 'cli/project/', 'cli/api/', 'cli/routes/']),
  cliPart('start', ['artifacts/', 'operations/', 'cli/project/']),
  cliPart('doctor', ['operations/', 'cli/account/', 'cli/api/']),
  cliPart('secrets'),
  cliPart('wrangler'),
  cliPart('routes', ['artifacts/', 'cli/project/', 'cli/api/']),
  cliPart('api', ['cli/account/', 'cli/project/']),
  cliPart('project', ['builder/', 'artifacts/', 'packages/create/project.ts']),
  // The typed client knows the API by its type.
  cliPart('account', ['packages/worker/client.ts'], ['control/api/app.ts']),
  { prefix: 'cli/local/', may: ['core/', 'cli/terminal/'] },
  { prefix: 'cli/terminal/', may: ['core/'] },
  // What runs the tests reads their table.
  {
    prefix: 'cli/tasks/',
    may: ['core/', 'cli/tasks/', 'dashboard/build/', 'web/', 'packages/worker/', 'test/suites.ts'],
  },
  { prefix: 'cli/tasks/suites/', may: ['core/', 'cli/tasks/tools/', 'test/suites.ts'] },
  { prefix: 'cli/tasks/tools/', may: ['core/'] },
  { prefix: 'web/', may: ['core/'] },
  // Only the process that builds loads these.
  { prefix: 'web/build/', may: ['core/', 'dashboard/build/', 'web/'] },
  {
    prefix: 'web/docs-site/',
    may: ['core/', 'web/serve/', 'cli/commands/tree.ts', 'control/api/', 'control/http/errors.ts'],
    mayTypes: ['control/process/dependencies.ts'],
  },
  { prefix: 'dashboard/', may: ['dashboard/src/'] },
  { prefix: 'dashboard/src/state/', may: [] },
  // The typed client knows the API by its type; everything it imports is bundled for browsers.
  {
    prefix: 'dashboard/src/api/',
    may: ['packages/worker/client.ts'],
    mayTypes: ['control/api/app.ts'],
    floor: dashboardFloors('state'),
  },
  { prefix: 'dashboard/src/components/', may: [], floor: dashboardFloors('state', 'api') },
  { prefix: 'dashboard/src/records/', may: [], floor: dashboardFloors('api', 'components') },
  { prefix: 'dashboard/src/queries/', may: [], floor: dashboardFloors('state', 'api', 'components') },
  { prefix: 'dashboard/src/shell/', may: [], floor: dashboardFloors('state', 'api', 'components', 'queries') },
  {
    prefix: 'dashboard/src/pages/',
    may: ['core/bindings/', 'core/release-settings.ts'],
    floor: dashboardFloors('state', 'api', 'components', 'records', 'queries', 'shell'),
  },
  {
    prefix: 'dashboard/src/routes/',
    may: [],
    mayTypes: ['core/bindings/'],
    floor: dashboardFloors('state', 'queries', 'shell', 'pages'),
  },
  { prefix: 'dashboard/build/', may: ['core/'] },
  { prefix: 'bench/', may: [''] },
  { prefix: 'test/', may: [''] },
];

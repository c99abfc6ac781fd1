// Who may import whom (in short: ARCHITECTURE.md, by map-rules.ts), as a table and functions over sources. No I/O.
import path from 'node:path';
import { builtinModules } from 'node:module';
import { importCycles, resolveOwn } from '#cli/tasks/tools/import-graph.ts';
import { readImports, type ImportSpecifier } from '#cli/tasks/tools/imports.ts';
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import { lineAt, type Finding } from './findings.ts';

/** Files that may import the same. */
export interface Zone {
  /** Path prefix; the longest one that fits decides. */
  readonly prefix: string;
  /** Prefixes its files may import besides the zone itself. */
  readonly may: readonly string[];
  /** Prefixes of which only types may be imported. */
  readonly mayTypes?: readonly string[];
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
];
const enginePart = (prefix: string, may: readonly string[] = []): Zone => ({
  prefix,
  may: ['core/', 'runtime/engine/bridge/protocol.ts', ...may],
  mayTypes: [...engineParts, 'artifacts/'],
});

const gatewayFloors = ['core/', 'gateway/contract/', 'gateway/accounts/', 'gateway/streams/', 'gateway/providers/'];

/** Below the features of the control plane; of its process they know types. */
const controlFloors = ['core/', 'postgres/', 'control/http/', 'control/access/', 'control/records/'];
const controlProcess = ['control/process/'];
const controlFeature = (name: string, may: readonly string[] = []): Zone => ({
  prefix: `control/${name}/`,
  may: [...controlFloors, ...may],
  mayTypes: controlProcess,
});

/** Parts of the command line, above what all of them need. */
const cliPart = (name: string, may: readonly string[] = [], mayTypes: readonly string[] = []): Zone => ({
  prefix: `cli/${name}/`,
  may: ['core/', 'cli/terminal/', 'cli/local/', ...may],
  mayTypes,
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
    may: ['core/', 'artifacts/', 'runtime/stores/', 'runtime/supervisor/data-folder/private-folders.ts'],
  },
  {
    prefix: 'runtime/engine/process/',
    joins: true,
    may: ['core/', 'runtime/stores/'],
    mayTypes: ['artifacts/'],
  },
  { prefix: 'runtime/engine/resources/', joins: true, may: ['core/'], mayTypes: ['artifacts/', 'runtime/stores/'] },
  { prefix: 'runtime/engine/serving/', joins: true, may: ['core/'], mayTypes: ['artifacts/'] },
  { prefix: 'runtime/engine/servers/', joins: true, may: ['core/'] },
  { prefix: 'runtime/engine/guest/', may: ['runtime/engine/bridge/protocol.ts'], mayTypes: ['packages/types/'] },
  enginePart('runtime/engine/http/', [
    'runtime/engine/process/configuration.ts',
    'runtime/engine/assets/asset-rules.ts',
  ]),
  enginePart('runtime/engine/assets/'),
  enginePart('runtime/engine/router/'),
  enginePart('runtime/engine/isolates/', ['runtime/engine/invocation/outcome.ts']),
  enginePart('runtime/engine/invocation/'),
  enginePart('runtime/engine/bridge/', ['runtime/engine/invocation/outcome.ts']),
  enginePart('runtime/engine/work/', [
    'runtime/engine/bindings/update-document.ts',
    'runtime/engine/bindings/arguments.ts',
  ]),
  enginePart('runtime/engine/cluster/', ['runtime/engine/http/header-block.ts', 'runtime/engine/http/request-id.ts']),
  {
    prefix: 'runtime/engine/cluster/supervised.ts',
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
    may: ['core/', 'runtime/engine/bridge/protocol.ts', 'runtime/engine/work/'],
    mayTypes: ['runtime/engine/bridge/', 'runtime/engine/invocation/'],
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
  { prefix: 'runtime/databases/main.ts', may: ['core/', 'runtime/databases/', 'runtime/stores/'] },
  {
    prefix: 'runtime/migrator/',
    may: [
      'core/',
      'artifacts/artifact-source.ts',
      'postgres/',
      'runtime/stores/database-service.ts',
      'runtime/engine/process/migrations.ts',
    ],
  },
  {
    prefix: 'runtime/broker/',
    may: ['core/', 'postgres/'],
    mayTypes: ['runtime/engine/bindings/', 'runtime/engine/invocation/'],
  },
  {
    prefix: 'runtime/broker/main.ts',
    may: ['core/', 'artifacts/', 'postgres/', 'runtime/broker/', 'runtime/stores/'],
  },
  { prefix: 'runtime/ssr/', may: ['core/', 'artifacts/archive/'] },
  // The process joins rows, machines and the way out.
  { prefix: 'sandbox/', may: ['core/', 'postgres/', 'sandbox/'] },
  { prefix: 'sandbox/service/', may: ['core/', 'postgres/', 'sandbox/routes/', 'sandbox/backends/'] },
  { prefix: 'sandbox/routes/', may: ['core/'] },
  { prefix: 'sandbox/backends/', may: ['core/', 'sandbox/agent/', 'sandbox/backends/'] },
  // These run inside sandboxes, with nothing else of ours.
  {
    prefix: 'sandbox/backends/hosted/inside/',
    may: ['core/sandbox/', 'core/errors.ts', 'sandbox/agent/'],
  },
  {
    prefix: 'sandbox/backends/container/inside/',
    may: ['core/sandbox/', 'core/errors.ts', 'core/way-out/proxy.ts', 'sandbox/agent/'],
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
      'runtime/supervisor/data-folder/',
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
      'runtime/engine/bridge/free-owner.ts',
      'runtime/engine/http/altered-exchange.ts',
      'runtime/engine/resources/',
    ],
    mayTypes: ['runtime/engine/', 'runtime/stores/', 'artifacts/'],
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
    ],
    mayTypes: ['runtime/engine/bindings/'],
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
      'builder/steps/way-out/',
    ],
  },
  { prefix: 'builder/steps/way-out/', may: ['core/'] },
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
  { prefix: 'control/', may: ['core/', 'postgres/', 'control/'] },
  {
    prefix: 'control/api/',
    may: ['core/', 'postgres/', 'git/', 'packages/worker/', 'resources/', 'gateway/accounts/', 'control/'],
  },
  {
    prefix: 'control/api/request/',
    may: ['packages/worker/', 'resources/', ...controlFloors],
    mayTypes: controlProcess,
  },
  { prefix: 'control/api/events/', may: [...controlFloors, 'control/telemetry/'], mayTypes: controlProcess },
  {
    prefix: 'control/api/resources/',
    may: ['core/', 'resources/', 'control/http/'],
    mayTypes: [...controlProcess, 'control/api/request/'],
  },
  controlFeature('operator', [
    'git/',
    'gateway/accounts/',
    'operations/doctor/',
    'control/alerts/',
    'control/releases/',
    'control/drains/',
    'control/git-host/',
    'control/sign-in/',
    'control/telemetry/',
    'control/webhooks/',
  ]),
  controlFeature('git-push', [
    'git/',
    'control/releases/',
    'control/git-host/',
    'control/storage/',
    'control/repositories/',
  ]),
  controlFeature('git-host', ['git/', 'control/releases/', 'control/sign-in/']),
  controlFeature('releases', ['artifacts/', 'gateway/accounts/', 'control/storage/', 'control/repositories/']),
  controlFeature('storage', ['git/']),
  // Repositories on the platform itself.
  controlFeature('repositories', ['git/']),
  controlFeature('alerts', ['operations/doctor/', 'control/outbound/', 'control/webhooks/']),
  controlFeature('drains', ['control/outbound/', 'control/telemetry/']),
  controlFeature('domains', ['control/webhooks/']),
  controlFeature('webhooks', ['control/outbound/']),
  controlFeature('outbound'),
  controlFeature('telemetry'),
  controlFeature('usage'),
  controlFeature('sign-in', ['packages/worker/', 'control/sessions/']),
  { prefix: 'control/records/', may: ['core/', 'postgres/', 'control/access/'], mayTypes: controlProcess },
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
  { prefix: 'gateway/routes/', may: [...gatewayFloors, 'gateway/routing/', 'gateway/answers/'] },
  { prefix: 'gateway/routing/', may: gatewayFloors },
  { prefix: 'gateway/answers/', may: ['core/', 'gateway/contract/', 'gateway/accounts/', 'gateway/streams/'] },
  { prefix: 'gateway/providers/', may: ['core/', 'gateway/contract/', 'gateway/accounts/', 'gateway/streams/'] },
  { prefix: 'gateway/streams/', may: ['gateway/contract/', 'gateway/accounts/'] },
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
    mayTypes: ['packages/vite/messages.ts'],
  },
  // The Vite plugin says in types what it tells the engine.
  cliPart('vite', ['builder/', 'cli/dev/', 'cli/project/'], ['packages/vite/messages.ts', 'runtime/dev/dev.ts']),
  cliPart(
    'dev',
    ['builder/', 'gateway/', 'runtime/dev/dev.ts', 'cli/account/', 'cli/project/', 'cli/api/'],
    ['packages/vite/messages.ts'],
  ),
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
  { prefix: 'cli/tasks/', may: ['core/', 'cli/tasks/', 'dashboard/build/', 'web/', 'test/suites.ts'] },
  { prefix: 'cli/tasks/suites/', may: ['core/', 'cli/tasks/tools/', 'test/suites.ts'] },
  { prefix: 'cli/tasks/tools/', may: ['core/'] },
  { prefix: 'web/', may: ['core/'] },
  // Only the process that builds loads these.
  { prefix: 'web/build/', may: ['core/', 'dashboard/build/', 'web/'] },
  {
    prefix: 'web/docs-site/',
    may: ['core/', 'web/build/', 'web/serve/', 'cli/commands/tree.ts', 'control/api/', 'control/http/errors.ts'],
    mayTypes: ['control/process/dependencies.ts'],
  },
  { prefix: 'dashboard/', may: ['dashboard/src/'] },
  { prefix: 'dashboard/src/state/', may: [] },
  // The typed client knows the API by its type; everything it imports is bundled for browsers.
  {
    prefix: 'dashboard/src/api/',
    may: ['packages/worker/client.ts', ...dashboardFloors('state')],
    mayTypes: ['control/api/app.ts'],
  },
  { prefix: 'dashboard/src/components/', may: dashboardFloors('state', 'api') },
  { prefix: 'dashboard/src/records/', may: dashboardFloors('api', 'components') },
  { prefix: 'dashboard/src/queries/', may: dashboardFloors('state', 'api', 'components') },
  { prefix: 'dashboard/src/shell/', may: dashboardFloors('state', 'api', 'components', 'queries') },
  {
    prefix: 'dashboard/src/pages/',
    may: dashboardFloors('state', 'api', 'components', 'records', 'queries', 'shell'),
  },
  { prefix: 'dashboard/src/routes/', may: dashboardFloors('state', 'queries', 'shell', 'pages') },
  { prefix: 'dashboard/build/', may: ['core/'] },
  { prefix: 'bench/', may: [''] },
  { prefix: 'test/', may: [''] },
];

/**
 * The third-party libraries that stay in their folder. One that has no row may be used wherever its package.json
 * declares it.
 */
const homes: Readonly<Record<string, readonly string[]>> = {
  'isolated-vm': ['runtime/engine/isolates/'],
  'uWebSockets.js': ['runtime/engine/http/'],
  uwebsockets: ['runtime/engine/http/'],
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
  aws4fetch: ['runtime/stores/', 'control/outbound/'],
  rolldown: ['builder/', 'runtime/engine/isolates/', 'cli/tasks/'],
  unenv: ['builder/'],
  undici: ['runtime/', 'sandbox/backends/hosted/', 'gateway/process/', 'control/process/'],
  citty: ['cli/', 'web/docs-site/'],
  pino: ['core/', 'runtime/', 'control/', 'builder/service/', 'web/'],
  typebox: ['core/typebox/'],
  croner: ['core/schedules/'],
  mrmime: ['builder/assets/', 'web/build/'],
  saxes: ['runtime/stores/'],
  jose: ['packages/'],
  yaml: ['core/', 'packages/vite/'],
  'urlpattern-polyfill': ['runtime/engine/guest/'],
  'web-streams-polyfill': ['runtime/engine/guest/'],
};

/** What every engine and supervisor loads when it starts. */
const quickly = ['runtime/engine/http/', 'runtime/engine/process/', 'runtime/supervisor/'];

/** Folders whose third-party imports are judged by nobody: they try things out. */
const unquarantined = ['test/', 'bench/'];

/** Every import that the table forbids, and every import cycle. */
export function importFindings(sources: Sources): Finding[] {
  const findings: Finding[] = [];
  const arrows: { from: string; to: string }[] = [];
  for (const [file, text] of Object.entries(sources)) {
    if (!isOwnModule(file) || file.endsWith('.d.mts') || file.endsWith('.d.ts')) continue;
    let imports: readonly ImportSpecifier[];
    try {
      imports = readImports(file, text);
    } catch (error) {
      findings.push({ file, line: 0, message: `does not parse: ${(error as Error).message}` });
      continue;
    }
    for (const found of imports) {
      const target = resolveOwn(file, found.specifier);
      const message =
        target === null ? bareObjection(file, found, sources) : ownObjection(file, target, found, sources);
      if (message !== null) findings.push({ file, line: lineAt(text, found.start), message });
      // A type that two files need belongs to the lower one. Lazy imports run later.
      if (target !== null && found.kind === 'static') arrows.push({ from: file, to: target });
    }
  }
  for (const cycle of importCycles(arrows)) {
    findings.push({ file: cycle[0]!, line: 0, message: `is in an import cycle: ${cycle.join(' -> ')}` });
  }
  return findings;
}

function ownObjection(file: string, target: string, found: ImportSpecifier, sources: Sources): string | null {
  const { specifier } = found;
  if (specifier.startsWith('#') && !specifier.startsWith('#test/') && file.split('/')[0] === target.split('/')[0])
    return `imports ${specifier}: inside one folder, use a relative path`;
  if (specifier.startsWith('..') && file.split('/')[0] !== target.split('/')[0] && !hasOwnPackage(file, sources)) {
    return `imports ${specifier}: across top-level folders, use #${target}`;
  }
  const zone = zoneOf(file);
  if (zone === null) return `lies in a folder that test/tidy/import-rules.ts does not know: add a row for it`;
  const own = zone.prefix === 'packages/' ? `packages/${file.split('/')[1]}/` : zone.prefix;
  const inside = target.startsWith(own) && zoneOf(target)?.prefix === zone.prefix;
  const joins =
    zone.joins === true && target.startsWith('runtime/engine/') && !target.startsWith('runtime/engine/guest/');
  if (inside || joins || startsWithAny(target, zone.may)) return null;
  if (startsWithAny(target, zone.mayTypes ?? [])) {
    return found.typeOnly ? null : `imports values from ${target}: ${zone.prefix} may import only types from there`;
  }
  return `imports ${target}: ${zone.prefix} may import ${listed(zone)}`;
}

function bareObjection(file: string, { specifier, typeOnly, kind }: ImportSpecifier, sources: Sources): string | null {
  const guest = zoneOf(file)?.prefix === 'runtime/engine/guest/';
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) {
    if (guest) return `imports ${specifier}: guest code runs inside the isolate, where Node's modules do not exist`;
    if (specifier === 'node:http' && !typeOnly && kind === 'static' && startsWithAny(file, quickly))
      return `imports node:http: that loads Node's HTTP client as well, write process.getBuiltinModule('node:http')`;
    return specifier.startsWith('node:')
      ? homeObjection(file, specifier)
      : `imports ${specifier}: write node:${specifier}`;
  }
  const name = packageName(specifier);
  const objection = homeObjection(file, name);
  if (objection !== null) return objection;
  return declared(file, name, sources) ? null : `imports ${name}: no package.json above it declares that dependency`;
}

function homeObjection(file: string, name: string): string | null {
  const allowed = homes[name];
  if (allowed === undefined || startsWithAny(file, allowed) || startsWithAny(file, unquarantined)) return null;
  return `imports ${name}: it stays in ${allowed.join(', ')}`;
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** What ships must be a dependency; tests, benches, tasks and what is bundled may use development dependencies. */
function declared(file: string, name: string, sources: Sources): boolean {
  const ships = !/^(?:test|bench|cli\/tasks|dashboard\/src|dashboard\/build\/build\.ts|web\/docs-site)/.test(file);
  const kinds = ['dependencies', 'optionalDependencies', 'peerDependencies', ...(ships ? [] : ['devDependencies'])];
  for (let folder = path.posix.dirname(file); ; folder = path.posix.dirname(folder)) {
    const text = sources[folder === '.' ? 'package.json' : `${folder}/package.json`];
    const manifest = text === undefined ? {} : (JSON.parse(text) as Record<string, Record<string, string>>);
    if (manifest['name'] !== undefined && String(manifest['name']) === name) return true;
    if (kinds.some((kind) => manifest[kind]?.[name] !== undefined)) return true;
    if (folder === '.') return false;
  }
}

function hasOwnPackage(file: string, sources: Sources): boolean {
  for (let folder = path.posix.dirname(file); folder !== '.'; folder = path.posix.dirname(folder)) {
    if (sources[`${folder}/package.json`] !== undefined) return true;
  }
  return false;
}

function zoneOf(file: string): Zone | null {
  let best: Zone | null = null;
  for (const zone of zones)
    if (file.startsWith(zone.prefix) && zone.prefix.length > (best?.prefix.length ?? 0)) best = zone;
  return best;
}

function startsWithAny(file: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => file.startsWith(prefix));
}

function listed({ may, mayTypes = [] }: Zone): string {
  const all = [...may, ...mayTypes.map((prefix) => `types of ${prefix}`)];
  return all.length === 0 ? 'nothing of ours but itself' : `only itself and ${all.join(', ')}`;
}

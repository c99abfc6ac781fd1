// The one table of test suites: what each proves, which files it runs and what it needs. `npm test` runs the quick
// rung, `npm test -- NAME` a suite, `.ci/run` the quick rung and chosen parts of the others, `npm run test:all`
// everything. What each part costs is in costs.json.

/** A suite of the slow rung; its name is the word behind `npm test --`. */
export interface Suite {
  readonly name: string;
  /** A sentence: what is true when it passes. */
  readonly proves: string;
  /** The folder of its test files, with a slash at its end. */
  readonly folder: string;
  /** Files that run at the same time; default 2. Suites that count what is left on the machine have 1. */
  readonly jobs?: number;
  /** Debian packages that it needs and a bare machine lacks. */
  readonly packages?: readonly string[];
  /** Folders with a package.json of their own whose dependencies it needs. */
  readonly installs?: readonly string[];
  /**
   * Modules of test/setup/: the suite runs the files of the quick rung that import one of them, and skip tests where
   * what it needs is not installed.
   */
  readonly importing?: readonly string[];
  /** Started by a module of its own, cli/tasks/suites/<name>.ts, rather than as test files. */
  readonly own?: boolean;
  /**
   * Words that pick a part of it, where the parts are not its files: `npm test -- hostile cpu`. A part is what
   * `.ci/run` chooses.
   */
  readonly parts?: readonly string[];
  /** Files of the repository that it tests without importing them, by the beginnings of their paths. */
  readonly covers?: readonly string[];
  /** What it is run with in .ci/run, and the share of its cost that this takes. */
  readonly submission?: { readonly environment: Readonly<Record<string, string>>; readonly share: number };
  /** Variables that are set for it everywhere. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Its programs leave the process tree (containers), so its cost is what the whole machine used. */
  readonly measuresMachine?: boolean;
}

/** Folders of the quick rung: `npm test`. */
const QUICK_FOLDERS: readonly string[] = [
  'test/unit/',
  'test/contract/',
  'test/integration/',
  'test/wpt/',
  'test/hostile/',
];

/** No file of the quick rung may cost more CPU seconds, unless it stands in {@link dearFiles}. */
export const FILE_CPU_SECONDS_MAX = 6;

/** Files of the quick rung that cost more, with the reason. The list may only shrink: `npm run check` looks. */
export const dearFiles: Readonly<Record<string, string>> = {
  'test/contract/resource-api-production.test.ts': 'the API of every kind of resource over a whole control plane',
  'test/contract/sandbox-api-production.test.ts': 'sandboxes by the API: real processes, files and streams',
  'test/contract/sandbox-local.test.ts': 'the whole contract of sandboxes over processes of this machine',
  'test/integration/backup-buckets.test.ts': 'the same over a server that speaks S3',
  'test/integration/backup.test.ts': 'each test dumps and restores a Postgres and a data folder',
  'test/integration/builder/builds.test.ts': 'a builder over a real queue, Git and Postgres',
  'test/integration/builds/steps.test.ts': 'seven builds with real programs in a fence',
  'test/integration/built-apps.test.ts': 'apps that are bundled for real, in dev and as built',
  'test/integration/control/authorization-walk.test.ts': 'every route by every role',
  'test/integration/control/git-host-events.test.ts': 'deliveries that lead to deployments',
  'test/integration/control/git-push.test.ts': 'pushes by the real git',
  'test/integration/control/releases.test.ts': 'releases over a platform in one process',
  'test/integration/control/sandbox-commands.test.ts': 'commands over real sandboxes',
  'test/integration/postgres-embedded.test.ts': 'starts a Postgres of its own a dozen times',
  'test/integration/private-port.test.ts': 'two engines that die and are replaced',
  'test/integration/replaced-engines.test.ts':
    'the one representative of engines that are killed: two of them, and a restart',
  'test/unit/runtime/databases/service/service.test.ts': 'statements that overrun, each ended with its process',
};

/** Beginnings of the paths of files that can share a process with others. */
export const SHARED_PROCESS: readonly string[] = ['test/unit/', 'test/contract/', 'test/integration/'];

/** Of these, the files that look at the state of their process, or change it. */
export const OWN_PROCESS: readonly string[] = [
  // What is loaded, and what all isolates of a process share.
  'test/unit/runtime/engine/bindings/fetch-agent.test.ts',
  'test/unit/runtime/engine/isolates/',
];

const ENGINE_PACKAGES = ['docker.io', 'debootstrap', 'iptables', 'xz-utils', 'e2fsprogs'];

export const suites: readonly Suite[] = [
  {
    name: 'engines',
    proves: 'Engines that die, are replaced or recycled lose no more than the requests inside them.',
    folder: 'test/engines/',
  },
  {
    name: 'control',
    proves: 'Pushes, releases, sign-in and outgoing messages work over a whole platform.',
    folder: 'test/control/',
  },
  {
    name: 'builds',
    proves: 'Strangers’ repositories are built by real package managers in confined processes.',
    folder: 'test/builds/',
  },
  {
    name: 'dev',
    proves: '`platform dev` and the Vite plugin work as whole programs.',
    folder: 'test/dev/',
  },
  {
    name: 'machines',
    proves:
      'Several machines serve as one; sandboxes over a hosted provider and several replicas keep to the contract.',
    folder: 'test/machines/',
    packages: ['caddy'],
    covers: [
      'sandbox/',
      'runtime/supervisor/machine/',
      'runtime/edge/',
      'postgres/',
      'runtime/mirror/',
      'artifacts/store/',
      'control/releases/routes/',
      'operations/upgrade/',
    ],
  },
  {
    name: 'ssr',
    proves: 'Servers for Node are fenced, start, serve, receive events and end.',
    folder: 'test/ssr/',
    packages: ['bubblewrap'],
  },
  {
    name: 'e2e',
    proves: 'The lines of README and docs work for a new user, in a fresh copy and from packed packages.',
    folder: 'test/e2e/',
    jobs: 3,
    installs: ['test/registry'],
    environment: { REGISTRY_REQUIRED: '1' },
    covers: ['README.md', 'docs/', 'examples/', 'packages/create/', 'cli/'],
  },
  {
    name: 'hostile',
    proves: 'No attack on a platform hurts a neighbour: its answers, its waiting times, its data.',
    folder: 'test/hostile/',
    own: true,
    parts: ['memory', 'cpu', 'protocol', 'escape', 'egress', 'tenancy'],
    covers: ['runtime/engine/'],
  },
  {
    name: 'hostile-builds',
    proves: 'Hostile repositories hurt neither the builder nor other builds.',
    folder: 'test/hostile/builds/',
    environment: { BUILD_ATTACKS: 'all' },
    packages: ['bubblewrap'],
  },
  {
    name: 'hostile-ssr',
    proves: 'Hostile servers for Node stay behind their fence.',
    folder: 'test/hostile/ssr/',
    packages: ['bubblewrap'],
  },
  {
    name: 'browser',
    proves: 'Dashboard and documentation work in Chromium, in both themes and three widths, without axe findings.',
    folder: 'test/browser/',
    packages: ['chromium', 'chromium-headless-shell'],
    installs: ['test/objects/packages'],
    covers: ['dashboard/', 'web/', 'docs/'],
  },
  {
    name: 'wpt',
    proves: 'Isolates pass the Web Platform Tests that they passed before.',
    folder: 'test/wpt/',
    own: true,
    parts: ['all'],
    covers: ['runtime/engine/guest/'],
  },
  {
    name: 'packages',
    proves: 'Packages of npm that people use in workers, and clients of models, work unmodified.',
    folder: 'test/integration/',
    importing: ['packages', 'ai-clients', 'ai-models', 'mcp-servers'],
    installs: ['test/packages'],
  },
  {
    name: 'objects',
    proves: 'Calls between workers, and objects, answer as on miniflare, and packages built on objects run unmodified.',
    folder: 'test/objects/',
    installs: ['bench', 'test/objects/packages'],
    covers: ['runtime/engine/', 'builder/shims/'],
  },
  {
    name: 'clients',
    proves: 'Clients of Postgres, MariaDB, Redis, mail and MongoDB work unmodified over sockets of workers.',
    folder: 'test/clients/',
    packages: ['mariadb-server', 'redis-server'],
    installs: ['test/clients/packages'],
    covers: ['builder/node/'],
  },
  {
    name: 'redis',
    proves: 'The stores over a real Redis keep to the contract of their kind.',
    folder: 'test/contract/',
    importing: ['redis'],
    packages: ['redis-server'],
    covers: ['runtime/stores/cache-redis.ts', 'control/sessions/session-store-redis.ts'],
  },
  {
    name: 'uws',
    proves: 'The listener over uWebSockets.js is held to the contract of listeners and serves workers.',
    folder: 'test/contract/',
    own: true,
    parts: ['contract', 'workers'],
    installs: ['bench'],
    packages: ['wrk'],
    covers: ['runtime/engine/http/'],
  },
  {
    name: 'mock-server',
    proves: 'The suites of bindings hold for workers in Node, whose bindings come from the mock server.',
    folder: 'test/contract/',
    own: true,
    parts: ['all'],
    covers: ['packages/dev/', 'runtime/dev/'],
  },
  {
    name: 'fuzz',
    proves: 'Parsers of untrusted bytes hold 100,000 inputs, and tests with random inputs ten times as many.',
    folder: 'test/unit/',
    own: true,
    parts: ['webhooks', 'archives', 'random'],
    covers: ['control/git-host/', 'artifacts/archive/'],
  },
  {
    name: 'native',
    proves: 'The codecs of the native half hold random input under the sanitizers.',
    folder: 'test/native/',
    own: true,
    parts: ['all'],
    packages: ['g++'],
    covers: ['runtime/engine/isolates/native/'],
  },
  {
    name: 'edge',
    proves: 'Domains get certificates, and Caddy and nginx pass on what arrives.',
    folder: 'test/edge/',
    own: true,
    packages: ['caddy', 'nginx', 'iproute2', 'prometheus'],
    covers: ['runtime/edge/', 'control/domains/'],
  },
  {
    name: 'durability',
    proves: 'What was acknowledged survives kill -9 of each process, and a backup restores it.',
    folder: 'test/durability/',
    jobs: 1,
    environment: { DURABILITY_ROUNDS: '20' },
    submission: { environment: { DURABILITY_ROUNDS: '2' }, share: 0.25 },
    covers: ['postgres/', 'runtime/broker/', 'runtime/stores/', 'operations/'],
  },
  {
    name: 'workflows',
    proves: 'Workflows written as classes end as on miniflare, also through a kill -9 in each step and a deployment.',
    folder: 'test/workflows/',
    jobs: 1,
    installs: ['bench'],
    covers: ['runtime/broker/', 'runtime/stores/', 'runtime/engine/guest/events/'],
  },
  {
    name: 'upgrade',
    proves: 'An installation upgrades from an earlier commit and goes back, also when it is killed meanwhile.',
    folder: 'test/upgrade/',
    own: true,
    parts: ['upgrade', 'kill-9'],
    environment: { UPGRADE_KILL_ROUNDS: '10' },
    submission: { environment: { UPGRADE_KILL_ROUNDS: '2' }, share: 0.4 },
    covers: ['operations/', 'postgres/migrations/'],
  },
  {
    name: 'frameworks',
    proves: 'Small apps of real frameworks run in dev, are built, deployed and visited.',
    folder: 'test/frameworks/',
    own: true,
    parts: ['rows', '--skew'],
    packages: ['bubblewrap', 'chromium', 'chromium-headless-shell'],
    submission: { environment: { FRAMEWORK_ROWS: 'today' }, share: 0.2 },
    covers: ['builder/frameworks/', 'builder/ssr/', 'builder/vite/', 'packages/vite/'],
  },
  {
    name: 'sandbox',
    proves: 'Sandboxes over Docker and podman keep to the contract, hold attacks and leave nothing behind.',
    folder: 'test/sandbox/',
    own: true,
    parts: [
      'ai-gateway',
      'attacks',
      'builds',
      'conformance',
      'contract',
      'dev',
      'kill-9',
      'leaks',
      'push',
      'secrets',
      'service',
    ],
    packages: [...ENGINE_PACKAGES, 'podman', 'runc', 'tini', 'containernetworking-plugins'],
    measuresMachine: true,
    covers: ['sandbox/', 'core/sandbox/'],
  },
  {
    name: 'compose',
    proves: 'The images hold what they need, and the compose files run a platform to which one can push.',
    folder: 'test/compose/',
    own: true,
    parts: ['images', 'push', 'capabilities', 'servers', 'sandboxes', 'handlers', 'https'],
    packages: [...ENGINE_PACKAGES, 'docker-compose'],
    measuresMachine: true,
    covers: ['Dockerfile', 'compose', 'containers/', '.env.example', 'cli/tasks/image.ts'],
  },
];

/** Which rung runs a test file: `check` for those of `npm run check`, otherwise `quick` or the name of a suite. */
export function rungOf(file: string): string {
  if (file === 'test/tidy.test.ts' || file.startsWith('test/types/')) return 'check';
  // Some suites run files of the quick rung in another way.
  const among = suites.filter(({ folder }) => file.startsWith(folder) && !QUICK_FOLDERS.includes(folder));
  const suite = among.toSorted((a, b) => b.folder.length - a.folder.length)[0];
  if (suite !== undefined) return suite.name;
  return QUICK_FOLDERS.some((folder) => file.startsWith(folder)) ? 'quick' : 'none';
}

/** The suite of that name; undefined: there is none. */
export function suiteOf(name: string): Suite | undefined {
  return suites.find((suite) => suite.name === name);
}

// Wrangler keys of bindings, and keys without an equivalent in platform.yaml, with alternatives.
import { bindings } from '#core/bindings/kinds.ts';
import type { WranglerBinding } from '#core/bindings/descriptor.ts';

/** Kinds that Wrangler declares as a list of bindings. */
export const wranglerBindings = Object.entries(bindings).flatMap(
  ([kind, { wrangler }]): (readonly [kind: string, WranglerBinding])[] => (wrangler === null ? [] : [[kind, wrangler]]),
);

/** By top-level key. */
export const unsupported: Readonly<Record<string, string>> = {
  account_id: 'not needed: a project belongs to an organization of the platform',
  agent_memory: 'not supported: `agentSDK: true`, docs/agents.md',
  ai_search: 'not supported: call a search service with fetch',
  ai_search_namespaces: 'not supported: call a search service with fetch',
  alias: 'no equivalent: omitted',
  analytics_engine_datasets: 'not supported: a database, or the logs',
  artifacts: 'not supported: `fs`, or a repository of your own',
  base_dir: 'no equivalent: modules are found by their imports',
  browser: 'not supported: puppeteer-core with connect() and a browser that runs elsewhere, or `sandbox`',
  cache: 'needs no switch: docs/cache.md',
  cloudchamber: 'not supported: `sandbox` runs programs in containers (docs/sandboxes.md)',
  compliance_region: 'no equivalent: your platform stores the data',
  configPath: 'belongs to a generated file: import your own file',
  containers: 'not supported: `sandbox` runs programs in containers (docs/sandboxes.md)',
  data_blobs: 'not needed: import the file',
  define: 'no equivalent: a variable, or a constant of your code',
  definedEnvironments: 'belongs to a generated file: import your own file',
  dispatch_namespaces: 'not supported: deploy each worker as a project with the API (docs/api.md)',
  exports: 'no equivalent: omitted',
  find_additional_modules: 'not needed: modules are found by their imports',
  first_party_worker: 'no equivalent: omitted',
  flagship: 'not supported: a variable',
  images: 'not supported: a WebAssembly codec such as @jsquash/jpeg',
  jsx_factory: 'is read from tsconfig.json',
  jsx_fragment: 'is read from tsconfig.json',
  keep_names: 'no equivalent: names of functions stay as they are',
  keep_vars: 'not needed: a deployment leaves variables as they are',
  legacy_env: 'not needed: each branch has an address of its own',
  logfwdr: 'not supported: `platform logs`',
  logpush: 'not supported: `platform logs`, docs/operating.md',
  media: 'not supported',
  minify: 'no equivalent: omitted',
  mtls_certificates: 'not supported',
  observability: 'needs no switch: `platform logs`, docs/operating.md',
  pipelines: 'not supported: a queue',
  placement: 'no equivalent: it runs where you start it',
  preserve_file_names: 'no equivalent: omitted',
  preview_urls: 'is always on: every branch has an address',
  previews: 'is always on: every branch has an address',
  python_modules: 'not supported: workers are JavaScript or TypeScript',
  ratelimits: 'is `rateLimit` of the worker framework (docs/framework.md)',
  route: 'is set on the platform: `platform domains add <hostname>`',
  routes: 'is set on the platform: `platform domains add <hostname>`',
  rules:
    'not needed for .txt, .sql and .html (text), .bin (bytes) and .wasm: import other files as text with ?raw, such as `./page.md?raw`',
  secrets: 'is `platform env set NAME --secret`',
  secrets_store_secrets: 'is a secret variable: `platform env set NAME --secret`',
  send_email: 'not supported: call a mail service with fetch',
  send_metrics: 'not needed: nothing is sent to anybody',
  stream: 'not supported',
  streaming_tail_consumers: 'not supported: `platform logs -f`',
  tail_consumers: 'not supported: `platform logs -f`',
  text_blobs: 'not needed: import the file',
  topLevelName: 'belongs to a generated file: import your own file',
  tsconfig: 'detected automatically',
  unsafe: 'not supported',
  unsafe_hello_world: 'not supported',
  upload_source_maps: 'is always on',
  userConfigPath: 'belongs to a generated file: import your own file',
  vectorize: 'not supported: create a vec0 table in a database',
  version_metadata: 'not supported: set a variable',
  vpc_networks: 'not supported',
  vpc_services: 'not supported',
  wasm_modules: 'not needed: import the .wasm file',
  worker_loaders: 'not supported',
  workers_dev: 'is always on: every project has an address',
};

/** Keys of `unsupported` that require no action: `platform import` names them in one line. */
export const nothingToDo: ReadonlySet<string> = new Set([
  'account_id',
  'cache',
  'find_additional_modules',
  'keep_vars',
  'legacy_env',
  'observability',
  'preview_urls',
  'previews',
  'send_metrics',
  'upload_source_maps',
  'workers_dev',
]);

/** Unsupported nested keys, by path, with alternatives. */
export const unsupportedWithin: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    wranglerBindings.flatMap(([, { key, unsupported: fields }]) =>
      Object.entries(fields).map(([field, note]) => [`${key}.${field}`, note] as const),
    ),
  ),
  'ai.remote': 'no equivalent: `platform dev` has a gateway of its own',
  'assets.experimental_serve_directly': 'is `assets.run_worker_first` here, the other way round',
  'dev.local_protocol': 'no equivalent: `platform dev` speaks http',
  'limits.subrequests': 'is the plan of the project here: `platform plan`',
  'queues.consumers.max_batch_size': 'no equivalent: queue(batch) gets up to 10 messages without waiting',
  'queues.consumers.max_batch_timeout': 'no equivalent: queue(batch) gets up to 10 messages without waiting',
  'queues.consumers.visibility_timeout_ms': 'not supported: belongs to pull queues',
  'queues.producers.delivery_delay': 'is `delaySeconds` of each send here (docs/queue.md)',
  'queues.producers.remote': 'no equivalent: `platform dev` has its own data',
};

/** Paths of identifiers in a Wrangler configuration that platform.yaml does not need. */
export const notNeeded: ReadonlySet<string> = new Set(
  wranglerBindings.flatMap(([, { key, notNeeded: fields }]) => fields.map((field) => `${key}.${field}`)),
);

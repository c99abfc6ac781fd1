// Popular npm packages that cannot run in a worker, with the reason and an alternative. Used by package-stand-ins.ts
// and compared with docs/compatibility.md. Pure.

/** Why a package cannot work. */
type Impossibility = 'native' | 'tcp' | 'programs' | 'server' | 'files' | 'threads' | 'stays' | 'cloudflare';

/** A package that cannot work, or whose main entry cannot. */
interface ImpossiblePackage {
  readonly why: Impossibility;
  /** The alternative, after the word "use". */
  readonly use: string;
  /** Other subpaths that cannot work either, such as `promise`; all others are left unchanged. */
  readonly paths?: readonly string[];
}

const NODE_SERVER = 'a server for Node (kind: ssr)';
const DATABASE = `a db binding, a driver that speaks HTTP, or ${NODE_SERVER}`;
const ROUTES = `hono or the routes of @platform-run/worker, or leave it as it is in ${NODE_SERVER}`;
const SCREENSHOTS = 'puppeteer-core with connect() and the address of a browser that runs elsewhere, or a sandbox';

export const impossibilities: Readonly<Record<Impossibility, string>> = {
  native: 'it is a native module, which only Node can load',
  tcp: "it keeps its own connections open, but a worker's connections end with each request",
  programs: 'it starts programs, which a worker cannot do',
  server: 'it listens on a port of its own, and a worker is called for each request',
  files: 'it reads files on a disk, which a worker does not have',
  threads: 'it starts threads, which a worker cannot do',
  cloudflare: 'it needs a service of Cloudflare that this platform does not have',
  stays:
    'it waits in a long-running process for the scheduled time, but a worker runs only while it handles a request or event',
};

export const impossiblePackages: Readonly<Record<string, ImpossiblePackage>> = {
  '@cloudflare/containers': { why: 'cloudflare', use: `a sandbox, or ${NODE_SERVER}` },
  '@cloudflare/playwright': { why: 'cloudflare', use: SCREENSHOTS },
  '@cloudflare/puppeteer': { why: 'cloudflare', use: SCREENSHOTS },
  '@cloudflare/sandbox': { why: 'cloudflare', use: 'a sandbox binding' },
  '@duckdb/node-api': { why: 'native', use: `@duckdb/duckdb-wasm in the page, or ${NODE_SERVER}` },
  '@grpc/grpc-js': { why: 'tcp', use: `an API of the service over HTTP, @connectrpc/connect-web, or ${NODE_SERVER}` },
  '@napi-rs/canvas': { why: 'native', use: `@resvg/resvg-wasm, or ${NODE_SERVER}` },
  '@node-rs/argon2': { why: 'native', use: 'hash-wasm, or scrypt of node:crypto' },
  '@node-rs/bcrypt': { why: 'native', use: 'bcryptjs, or scrypt of node:crypto' },
  '@tensorflow/tfjs-node': { why: 'native', use: `the AI binding (ai: true), or ${NODE_SERVER}` },
  '@vercel/og': { why: 'files', use: 'satori and @resvg/resvg-wasm, with the font as an import' },
  amqplib: { why: 'tcp', use: `a queue, or ${NODE_SERVER}`, paths: ['callback_api'] },
  argon2: { why: 'native', use: 'hash-wasm, or scrypt of node:crypto' },
  bcrypt: { why: 'native', use: 'bcryptjs, or scrypt of node:crypto' },
  'better-sqlite3': { why: 'native', use: 'a db binding' },
  bull: { why: 'tcp', use: `a queue, or ${NODE_SERVER}` },
  bullmq: { why: 'tcp', use: `a queue, or ${NODE_SERVER}` },
  canvas: { why: 'native', use: `@resvg/resvg-wasm, or ${NODE_SERVER}` },
  'cassandra-driver': { why: 'tcp', use: DATABASE },
  chokidar: { why: 'files', use: 'the build for what it does to files, or a sandbox' },
  esbuild: { why: 'programs', use: 'esbuild-wasm, or run it in the build' },
  execa: { why: 'programs', use: `a sandbox, or ${NODE_SERVER}` },
  express: { why: 'server', use: ROUTES },
  fastify: { why: 'server', use: ROUTES },
  'fluent-ffmpeg': { why: 'programs', use: `a sandbox, or ${NODE_SERVER}` },
  got: { why: 'tcp', use: 'fetch or ky' },
  'isolated-vm': { why: 'native', use: `a sandbox, or ${NODE_SERVER}` },
  jsdom: { why: 'files', use: 'linkedom, cheerio, or HTMLRewriter' },
  kafkajs: { why: 'tcp', use: `a queue, or ${NODE_SERVER}` },
  koa: { why: 'server', use: ROUTES },
  ldapjs: { why: 'tcp', use: NODE_SERVER },
  libsql: { why: 'native', use: '@libsql/client, or a db binding' },
  memcached: { why: 'tcp', use: `a state binding, or ${NODE_SERVER}` },
  mongoose: { why: 'tcp', use: DATABASE },
  mssql: { why: 'tcp', use: DATABASE },
  mysql: { why: 'tcp', use: DATABASE },
  nats: { why: 'tcp', use: `a queue, or ${NODE_SERVER}` },
  'node-cron': { why: 'stays', use: '"cron:" in platform.yaml' },
  'node-pty': { why: 'native', use: 'the terminal of a sandbox' },
  'node-schedule': { why: 'stays', use: '"cron:" in platform.yaml, or a timer binding' },
  'onnxruntime-node': { why: 'native', use: `the AI binding (ai: true), or ${NODE_SERVER}` },
  oracledb: { why: 'native', use: DATABASE },
  piscina: { why: 'threads', use: `a queue, whose messages run beside requests, or ${NODE_SERVER}` },
  playwright: { why: 'programs', use: SCREENSHOTS },
  'playwright-core': { why: 'programs', use: SCREENSHOTS },
  puppeteer: { why: 'programs', use: SCREENSHOTS },
  re2: { why: 'native', use: 'RegExp, because the CPU of each request is limited' },
  'selenium-webdriver': { why: 'programs', use: SCREENSHOTS },
  serialport: { why: 'native', use: 'a program beside the device that calls the worker' },
  sharp: { why: 'native', use: `a WebAssembly codec such as @jsquash/jpeg, or ${NODE_SERVER}` },
  'simple-git': { why: 'programs', use: 'isomorphic-git, or a sandbox' },
  'socket.io': { why: 'server', use: `WebSocketPair, or ${NODE_SERVER}` },
  'sodium-native': { why: 'native', use: 'libsodium-wrappers' },
  sqlite3: { why: 'native', use: 'a db binding' },
  ssh2: { why: 'tcp', use: `a sandbox, or ${NODE_SERVER}` },
  tedious: { why: 'tcp', use: DATABASE },
};

/** The package name of a specifier, without a subpath: `@libsql/client` of `@libsql/client/web`. */
export function packageNameOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** The table entry of a specifier that cannot work. */
export function impossibleOf(specifier: string): ImpossiblePackage | undefined {
  const name = packageNameOf(specifier);
  if (!Object.hasOwn(impossiblePackages, name)) return undefined;
  const entry = impossiblePackages[name]!;
  return specifier === name || entry.paths?.includes(specifier.slice(name.length + 1)) === true ? entry : undefined;
}

/** The message for the author. */
export function impossibleMessage(name: string): string {
  const { why, use } = Object.hasOwn(impossiblePackages, name)
    ? impossiblePackages[name]!
    : { why: 'native' as const, use: `a package in WebAssembly or JavaScript, or ${NODE_SERVER}` };
  return `${name} cannot run in a worker: ${impossibilities[why]}; use ${use}`;
}

// The adapter: writes the worker and the files of a SvelteKit app into .platform/output. Plain JavaScript, because it
// runs in the Node and the SvelteKit of the project; `platform build` uses it for apps with adapter-auto.
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const OUTPUT = '.platform/output';
const WORKER = fileURLToPath(new URL('./runtime/worker.mjs', import.meta.url));
/** Source of the module that provides variables to code that runs before the worker has started the app. */
const ENVIRONMENT = `import { env } from 'cloudflare:workers';\nexport default env;\n`;

/** Ignores options, so that it can replace other adapters. */
export default function platform() {
  return {
    name: '@platform-run/sveltekit',
    adapt,
    emulate: () => ({ platform: developmentPlatform }),
    supports: { read: () => true, instrumentation: () => true },
  };
}

function adapt(builder) {
  // SvelteKit 2 has its settings below `kit`.
  const { paths } = builder.config.paths === undefined ? builder.config.kit : builder.config;
  const publicFolder = path.resolve(OUTPUT, 'public');
  const serverFolder = path.resolve(OUTPUT, 'server');
  rmSync(path.resolve(OUTPUT), { recursive: true, force: true });
  const files = publicFolder + paths.base;
  for (const folder of [files, serverFolder]) mkdirSync(folder, { recursive: true });
  builder.writeClient(files);
  builder.writePrerendered(files);
  writeRules(builder, files, publicFolder);
  const app = path.join(serverFolder, 'app.mjs');
  writeServer(builder, app);
  appendFileSync(app, `\nexport const base = ${JSON.stringify(paths.base)};\n`);
  const entry = path.join(serverFolder, 'index.mjs');
  cpSync(WORKER, entry);
  if (builder.hasServerInstrumentationFile?.()) {
    const initializer = builder.createInstrumentationInitializer?.({
      outputDirectory: serverFolder,
      environment: ENVIRONMENT,
    });
    builder.instrument({
      entrypoint: entry,
      instrumentation: path.join(builder.getServerDirectory(), 'instrumentation.server.js'),
      start: path.join(serverFolder, 'start.mjs'),
      initializer,
      module: { exports: ['default'] },
    });
  }
}

/** A module that exports the app's server; SvelteKit 3 writes it itself. */
function writeServer(builder, file) {
  if (builder.generateServerInstance !== undefined) {
    builder.generateServerInstance(file);
    return;
  }
  if (builder.generateManifest === undefined)
    throw new Error(
      '@platform-run/sveltekit is for SvelteKit 2 and 3: set "@sveltejs/kit" to "^3.0.0" in package.json',
    );
  const relativePath = path.relative(path.dirname(file), builder.getServerDirectory()).split(path.sep).join('/');
  writeFileSync(
    file,
    `import { Server } from ${JSON.stringify(`${relativePath}/index.js`)};\n` +
      `export const server = new Server(${builder.generateManifest({ relativePath })});\n`,
  );
}

/**
 * Writes `_headers` and `_redirects`, with paths from the root of the served files. The rules are in the project's
 * `static` and root folder, as for adapter-cloudflare, and in the app's files. Hashed files never change; redirects of
 * prerendered pages need no worker.
 */
function writeRules(builder, files, folder) {
  const { redirects } = builder.prerendered;
  const own = {
    _headers: `/${builder.getAppPath()}/immutable/*\n  ! Cache-Control\n  Cache-Control: public, max-age=31536000, immutable\n`,
    _redirects: [...redirects].map(([from, { status, location }]) => `${from} ${location} ${status}\n`).join(''),
  };
  for (const [name, rules] of Object.entries(own)) {
    const places = new Set([path.join(files, name), path.resolve(name)]);
    const texts = [...places].filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
    rmSync(path.join(files, name), { force: true });
    const text = [...texts, rules].filter((part) => part !== '').join('\n');
    if (text !== '') writeFileSync(path.join(folder, name), text);
  }
}

/** `event.platform` in `vite dev` and while prerendering; `platform dev` sets the bindings. */
function developmentPlatform() {
  return { env: globalThis[Symbol.for('platform.env')] ?? {}, ctx: { waitUntil() {} } };
}

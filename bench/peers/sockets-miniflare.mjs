// workers/sockets.js in miniflare, over its stand-in of Hyperdrive: `node sockets-miniflare.mjs <url> <port>`.
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { rolldown } from 'rolldown';

const [, , url, port] = process.argv;
const bundle = await rolldown({
  input: join(import.meta.dirname, '../workers/sockets.js'),
  external: (id) => builtinModules.includes(id) || /^(?:node|cloudflare):/.test(id),
  platform: 'neutral',
  resolve: { mainFields: ['module', 'main'], conditionNames: ['workerd', 'default'] },
  onLog() {},
});
const { output } = await bundle.generate({
  format: 'esm',
  codeSplitting: false,
  banner: `import { createRequire } from 'node:module';\nconst require = createRequire('/');`,
});
const miniflare = new Miniflare({
  host: '127.0.0.1',
  port: Number(port),
  modules: [{ type: 'ESModule', path: 'worker.js', contents: output[0].code }],
  compatibilityDate: '2026-01-01',
  compatibilityFlags: ['nodejs_compat'],
  hyperdrives: { PG: url },
});
await miniflare.ready;
process.on('SIGTERM', () => void miniflare.dispose().then(() => process.exit(0)));

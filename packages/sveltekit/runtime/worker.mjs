// The worker of an app. index.mjs copies it beside app.mjs, the app's server.
import { env } from 'cloudflare:workers';
import { base, server } from './app.mjs';

const started = server.init({ env, read });

export default {
  async fetch(request, env, ctx) {
    await started;
    return server.respond(request, {
      platform: { env, ctx, caches, cf: request.cf },
      getClientAddress: () => request.headers.get('x-real-ip') ?? '',
    });
  },
};

/** `read` of `$app/server`: its files are among the assets. */
async function read(file) {
  if (typeof env.ASSETS?.fetch !== 'function')
    throw new Error('read() of $app/server needs "assets: { binding: ASSETS }" in platform.yaml');
  const response = await env.ASSETS.fetch(`https://assets.local${base}/${file}`);
  if (!response.ok) throw new Error(`read(): ${file} is not among the assets (${response.status})`);
  return response.body;
}

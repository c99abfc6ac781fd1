// The worker of an app. Astro bundles it: what it imports of Astro is the project's.
import { createApp } from 'astro/app/entrypoint';
import { setGetEnv } from 'astro/env/setup';

const deployed = globalThis[Symbol.for('platform.env')] ?? {};
setGetEnv((name) => (typeof deployed[name] === 'string' ? deployed[name] : undefined));

const app = createApp();

export default {
  async fetch(request, env, ctx) {
    const platform = { env, ctx, cf: request.cf };
    return app.render(request, {
      routeData: app.match(request),
      // The second name is the one that apps for workers know.
      locals: { platform, runtime: platform },
      waitUntil: (promise) => ctx.waitUntil(promise),
      addCookieHeader: true,
      clientAddress: request.headers.get('x-real-ip') ?? undefined,
      prerenderedErrorPageFetch: (url) => errorPage(env, url),
    });
  },
};

/** A 404 or 500 page that was made by the build lies among the files, under its name without `.html`. */
async function errorPage({ ASSETS }, url) {
  if (typeof ASSETS?.fetch !== 'function')
    throw new Error('Prerendered error pages need "assets: { binding: ASSETS }" in platform.yaml');
  return ASSETS.fetch(url.replace(/(?:\/index)?\.html$/, ''));
}

// The worker of an app. Astro bundles it with the project's Astro.
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
      // The second name is for apps written for other worker platforms.
      locals: { platform, runtime: platform },
      waitUntil: (promise) => ctx.waitUntil(promise),
      addCookieHeader: true,
      clientAddress: request.headers.get('x-real-ip') ?? undefined,
      prerenderedErrorPageFetch: (url) => errorPage(env, url),
    });
  },
};

/** A 404 or 500 page from the build is among the files, under its name without `.html`. */
async function errorPage({ ASSETS }, url) {
  if (typeof ASSETS?.fetch !== 'function')
    throw new Error('Prerendered error pages need "assets: { binding: ASSETS }" in platform.yaml');
  return ASSETS.fetch(url.replace(/(?:\/index)?\.html$/, ''));
}

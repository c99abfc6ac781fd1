// The worker of an app. Nitro bundles it: the names with # are Nitro's own.
import '#nitro-internal-pollyfills';
import wsAdapter from 'crossws/adapters/cloudflare';
import { useNitroApp } from 'nitropack/runtime';
import { requestHasBody, runCronTasks } from 'nitropack/runtime/internal';

const nitroApp = useNitroApp();
const sockets = import.meta._websocket ? wsAdapter(nitroApp.h3App.websocket) : undefined;

export default {
  async fetch(request, env, ctx) {
    globalThis.__env__ = env;
    if (import.meta._websocket && request.headers.get('upgrade') === 'websocket')
      return sockets.handleUpgrade(request, env, ctx);
    const url = new URL(request.url);
    return nitroApp.localFetch(url.pathname + url.search, {
      context: { waitUntil: (promise) => ctx.waitUntil(promise), _platform: bindings(request, env, ctx) },
      host: url.host,
      protocol: url.protocol,
      method: request.method,
      headers: request.headers,
      body: requestHasBody(request) ? Buffer.from(await request.arrayBuffer()) : undefined,
    });
  },
  async scheduled(controller, env, ctx) {
    globalThis.__env__ = env;
    await nitroApp.hooks.callHook('cloudflare:scheduled', { controller, env, context: ctx });
    if (import.meta._tasks)
      await runCronTasks(controller.cron, { context: bindings(undefined, env, ctx), payload: {} });
  },
};

/** `event.context.platform`, and the name used by apps for other worker platforms. */
function bindings(request, env, ctx) {
  return { platform: { request, env, ctx }, cloudflare: { request, env, context: ctx } };
}

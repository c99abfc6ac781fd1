// The worker of a Nitro 3 app, which bundles it: the name with # is Nitro's own worker (nitro.config.mjs).
import worker from '#platform/worker';

export default {
  ...worker,
  fetch(request, env, ctx) {
    // Available to handlers as `event.context`.
    request.context = { ...request.context, platform: { request, env, ctx } };
    return worker.fetch(request, env, ctx);
  },
};
